"""The commands as a person runs them: files, exit codes, one line for what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from crosswind.simulators.commands.bench import bench
from crosswind.simulators.commands.rollout import rollout


def test_demonstrations_are_the_same_for_the_same_seed(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a", "b", "c")]
    for file, seed in zip(files, ("1", "1", "2"), strict=True):
        given = ["demonstrate", "--count", "21", "--seed", seed, "--out", str(file)]
        assert CliRunner().invoke(rollout, given).exit_code == 0
    assert files[0].read_bytes() == files[1].read_bytes() != files[2].read_bytes()
    lines = [json.loads(line) for line in files[0].read_text().splitlines()]
    assert len(lines) == 21
    for line in lines:
        assert set(line) == {"task_id", "kind", "tools", "messages"}
        assert line["task_id"].startswith("retail-train-")
        assert [message["role"] for message in line["messages"][:2]] == ["system", "user"]
        assert line["messages"][-1]["role"] == "assistant"
    assert len({json.dumps([line["tools"], line["messages"][0]]) for line in lines}) == 1, (
        "one constant prefix"
    )


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (
            ["demonstrate", "--out", "x", "--environment", "retial"],
            "--environment: there is no 'retial'; did you mean",
        ),
        (["demonstrate", "--out", "x", "--kinds", "hard"], "--kinds: retail has no 'hard'; use one of"),
        (["demonstrate", "--out", "no/such/folder/x"], "--out: can't write no/such/folder/x"),
        (
            ["run", "--control", "http://127.0.0.1:9", "--start-within", "0"],
            "--control: nothing answers at http://127.0.0.1:9; start",
        ),
    ],
)
def test_a_bad_option_is_one_line_and_exit_code_2(given: list[str], says: str) -> None:
    result = CliRunner().invoke(rollout, given)
    assert result.exit_code == 2
    assert says in result.stderr and result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--noise", "tool.timeout@high"], "--noise: 'tool.timeout@high' isn't TYPE"),
        (["--control", "http://127.0.0.1:9", "--profile", "noisyagent"], "--control: nothing answers"),
        (["--compare", "no-such", "files"], "--compare: no-such: can't be read"),
    ],
)
def test_bench_refuses_a_bad_option(given: list[str], says: str) -> None:
    result = CliRunner().invoke(bench, given)
    assert result.exit_code == 2
    assert says in result.stderr and result.stderr.count("\n") == 1


def test_where_no_gateway_answers_the_check_of_bench_says_what_it_left_out() -> None:
    given = ["--check", "--noise", "tool.timeout@3", "--control", "http://127.0.0.1:9"]
    result = CliRunner().invoke(bench, given)
    assert result.exit_code == 0
    assert result.stderr.startswith("nothing answers at http://127.0.0.1:9: its noise types")


def bench_file(path: Path, clean: dict[str, float], noisy: dict[str, float]) -> str:
    arms: dict[str, Any] = {"clean": {"by_task": clean}, "noisy": {"by_task": noisy}}
    path.write_text(json.dumps({"arms": arms}))
    return str(path)


def test_compare_prints_and_writes_paired_differences(tmp_path: Path) -> None:
    tasks = [str(task) for task in range(40)]
    before = bench_file(tmp_path / "before", dict.fromkeys(tasks, 1.0), dict.fromkeys(tasks, 0.0))
    after = bench_file(tmp_path / "after", dict.fromkeys(tasks, 1.0), dict.fromkeys(tasks, 0.5))
    out = tmp_path / "compared.json"
    result = CliRunner().invoke(bench, ["--compare", before, after, "--json", str(out)])
    assert result.exit_code == 0, result.output
    assert "+50.0" in result.output and "overall" in result.output
    arms = json.loads(out.read_text())["arms"]
    assert arms["clean"]["difference"] == 0.0
    assert (arms["noisy"]["difference"], arms["noisy"]["low"], arms["noisy"]["n"]) == (0.5, 0.5, 40)
    assert arms["overall"]["difference"] == 0.25


def test_compare_of_different_tasks_is_refused(tmp_path: Path) -> None:
    before = bench_file(tmp_path / "before", {"a": 1.0}, {"a": 1.0})
    after = bench_file(tmp_path / "after", {"b": 1.0}, {"b": 1.0})
    result = CliRunner().invoke(bench, ["--compare", before, after])
    assert result.exit_code == 2 and "no task in common" in result.stderr
