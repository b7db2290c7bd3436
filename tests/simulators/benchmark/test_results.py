"""A benchmark's figures per arm: what noise acted stands beside the success, and none without noise."""

from __future__ import annotations

from rich.console import Console

from crosswind.simulators.benchmark.compare import compare_benchmarks, find_asleep
from crosswind.simulators.benchmark.results import arms
from crosswind.simulators.benchmark.table import results_table
from crosswind.simulators.environment import Task, Verdict, declare_tools, load
from crosswind.simulators.episodes.record import Job, Record


def record(arm: str, task: str, reward: float, injected: int, withheld: int = 0) -> Record:
    session = {"arm": "clean"} if arm == "clean" else {"arm": "noisy", "noise_type": arm}
    job = Job(Task(task, "test", "status"), 0, (task,), session)
    return Record(job, session["arm"], verdict=Verdict(reward), injected=injected, withheld=withheld)


PLAYED = [
    *(record("clean", task, 1.0, 0) for task in ("a", "b")),
    record("tool.timeout", "a", 1.0, 0, 3),
    record("tool.timeout", "b", 1.0, 0, 2),
    record("user.typos", "a", 1.0, 2),
    record("user.typos", "b", 0.0, 0, 1),
]


def test_an_arm_in_which_no_noise_acted_has_no_success() -> None:
    found = arms(PLAYED)
    assert found["clean"]["success"] == 1.0
    asleep = found["tool.timeout"]
    assert (asleep["success"], asleep["low"], asleep["high"], asleep["by_task"]) == (None, None, None, {})
    assert (asleep["n"], asleep["injected"], asleep["withheld"], asleep["met_noise"]) == (2, 0, 5, 0)
    typos = found["user.typos"]
    assert (typos["success"], typos["injected"], typos["withheld"], typos["met_noise"]) == (0.5, 2, 1, 1)
    assert (found["noisy"]["injected"], found["noisy"]["withheld"]) == (2, 6)


def test_the_table_says_that_no_noise_acted() -> None:
    results = {
        **{"environment": "retail", "split": "test", "tasks": 2, "temperature": 0.0, "policy_version": None},
        "arms": arms(PLAYED),
    }
    console = Console(width=160, record=True)
    console.print(results_table(results))
    lines = {line.split("│")[1].strip(): line for line in console.export_text().splitlines() if "│" in line}
    assert "no noise acted" in lines["tool.timeout"] and "100.0%" not in lines["tool.timeout"]
    assert "50.0%" in lines["user.typos"]
    assert "tool.timeout" not in compare_benchmarks(results, results)
    assert find_asleep(results, results) == ["tool.timeout"]


def test_an_environment_declares_its_tools() -> None:
    declared = declare_tools(load("retail"))
    named = {tool["function"]["name"] for tool in load("retail").tools}
    assert declared.keys() == named and set(declared.values()) == {"read_only", "idempotent"}
