"""A benchmark's figures per arm: what noise acted stands beside the success, and none without noise."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from crosswind.figures.paired import NoiseCost, measure_cost
from crosswind.simulators.benchmark.compare import compare_benchmarks, find_asleep
from crosswind.simulators.benchmark.results import arms
from crosswind.simulators.benchmark.table import dose_table, results_table
from crosswind.simulators.environment import Task, Verdict, declare_tools, load
from crosswind.simulators.episodes.record import Job, Record


def record(arm: str, task: str, reward: float, injected: int, withheld: int = 0) -> Record:
    session = {"arm": "clean"} if arm == "clean" else {"arm": "noisy", "noise_type": arm}
    job = Job(Task(task, "test", "status"), 0, (task,), session)
    counts = {"injected": injected, "withheld": withheld, "decided": injected + withheld, "eligible": 4}
    own = {"assigned": 1, **counts, "exposed": int(injected > 0)}
    exposure = "exposed" if injected else "withheld" if withheld else "eligible"
    dose: dict[str, Any] = {"arm": session["arm"], "exposure": None, "operators": {}}
    if arm != "clean":
        dose |= {"exposure": exposure, "operators": {arm: own}}
    return Record(job, session["arm"], verdict=Verdict(reward), dose=dose)


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
    assert (asleep["n"], asleep["injected"], asleep["withheld"], asleep["exposed"]) == (2, 0, 5, 0)
    typos = found["user.typos"]
    assert (typos["success"], typos["injected"], typos["withheld"], typos["exposed"]) == (0.5, 2, 1, 1)
    assert (found["noisy"]["injected"], found["noisy"]["withheld"]) == (2, 6)
    assert found["noisy"]["operators"]["user.typos"] == {
        "assigned": 2,
        "eligible": 8,
        "decided": 3,
        "injected": 2,
        "withheld": 1,
        "exposed": 1,
    }


def test_what_noise_costs_is_divided_by_the_exposure() -> None:
    """One of two episodes met typos and lost: the difference as assigned is half of what typos cost."""
    found = arms(PLAYED)
    cost = found["user.typos"]["cost"]
    assert (cost["as_assigned"], cost["exposure_rate"], cost["gap"]) == (0.5, 0.5, 1.0)
    assert cost["as_assigned_low"] <= 0.5 <= cost["as_assigned_high"] and cost["low"] <= 1.0 <= cost["high"]
    assert found["tool.timeout"]["cost"] is None and "cost" not in found["clean"]
    assert measure_cost({"a": 1.0}, {"a": 1.0}, {"a": 0.0}) == NoiseCost(0.0, 0.0, 0.0, 0.0, None, None, None)


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
    doses = dose_table(results)
    assert doses is not None
    console.print(doses)
    [met] = [line for line in console.export_text().splitlines() if "user.typos" in line]
    assert [cell.strip() for cell in met.split("│")[2:8]] == ["2", "50%", "8", "3", "2", "1"]
    assert "+100.0" in met and "+50.0" in met
    assert "tool.timeout" not in compare_benchmarks(results, results)
    assert find_asleep(results, results) == ["tool.timeout"]


def test_an_environment_declares_its_tools() -> None:
    declared = declare_tools(load("retail"))
    named = {tool["function"]["name"] for tool in load("retail").tools}
    assert declared.keys() == named and set(declared.values()) == {"read_only", "idempotent"}


def test_several_samples_give_pass_at_k() -> None:
    """Task a is solved in one of two episodes, b in both."""
    played = [
        record("clean", task, reward, 0) for task, reward in (("a", 1.0), ("a", 0.0), ("b", 1.0), ("b", 1.0))
    ]
    found = arms(played)
    assert found["clean"]["at_k"][-1] == {"k": 2, "tasks": 2, "avg": 0.75, "any": 1.0, "all": 0.5}
    results = {
        "environment": "retail",
        "split": "test",
        "tasks": 2,
        "samples": 2,
        "temperature": 1.0,
        "policy_version": None,
        "arms": found,
    }
    console = Console(width=140)
    with console.capture() as printed:
        console.print(results_table(results))
    text = printed.get()
    assert "Pass@2" in text and "100.0%" in text and "50.0%" in text
