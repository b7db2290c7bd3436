"""`crosswind compare`: two stores, or two labels of one, side by side."""

from __future__ import annotations

import csv
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from crosswind.studies.compare import command
from tests.studies.stored_runs import write_run


def compare(*arguments: str) -> Result:
    return CliRunner().invoke(command.compare, arguments)


def test_two_stores_are_compared_task_by_task(tmp_path: Path) -> None:
    before = write_run(tmp_path / "a.db", clean=18, noisy=16)
    after = write_run(tmp_path / "b.db", clean=18, noisy=8)
    result = compare(before, after)
    assert result.exit_code == 0, result.output
    assert "Noisy success FELL: 80.0 % to 40.0 %, -40.0 points" in result.output
    assert "Clean success did not change beyond doubt: 90.0 % to 90.0 %" in result.output
    assert "The drop under noise went from -10.0 to -50.0 points" in " ".join(result.output.split())
    assert "8 lost, 0 gained" in result.output
    assert max(map(len, result.output.splitlines())) <= 80
    assert compare(before, after).output == result.output


def test_two_labels_of_one_store_are_compared(tmp_path: Path) -> None:
    store = write_run(tmp_path / "a.db", clean=10, noisy=10, agent="v1")
    write_run(tmp_path / "a.db", clean=20, noisy=20, agent="v2")
    result = compare(store, store, "--before", "agent=v1", "--after", "agent=v2")
    assert "Clean success rose: 50.0 % to 100.0 %" in result.output


def test_every_format_says_the_same(tmp_path: Path) -> None:
    before = write_run(tmp_path / "a.db", clean=20, noisy=20)
    after = write_run(tmp_path / "b.db", clean=20, noisy=5)
    files = {name: tmp_path / f"out.{name}" for name in ("json", "csv", "markdown", "junit", "html")}
    options = [part for name, path in files.items() for part in (f"--{name}", str(path))]
    result = compare(before, after, "--max-drop", "0.2", *options)
    assert result.exit_code == 4, result.output
    figures = json.loads(files["json"].read_text())
    assert figures["arms"]["noisy"]["paired"]["difference"] == -0.75
    assert (figures["gate"]["verdict"], figures["gate"]["exit_status"]) == ("failed", 4)
    rows = list(csv.reader(files["csv"].read_text().splitlines()))
    assert ["Success by arm", "noisy", "20 → 20", "20", "100.0 %", "25.0 %", "-75.0"] in [
        row[:7] for row in rows
    ]
    assert "Failed: a drop of at most 20.0 points" in files["markdown"].read_text()
    assert "Failed: a drop of at most 20.0 points" in files["html"].read_text()
    suites = ElementTree.parse(files["junit"]).getroot()
    gate = suites.find("testsuite[@name='gate']")
    assert gate is not None and gate.get("failures") == "1"
    tasks = suites.find("testsuite[@name='flaky']")
    assert tasks is not None and (tasks.get("tests"), tasks.get("failures")) == ("20", "15")


@pytest.mark.parametrize(
    ("noisy", "goal", "status"),
    [(20, ["--max-drop", "0.3"], 0), (20, ["--max-drop", "0.01"], 3), (0, ["--fail-below", "0.5"], 4)],
)
def test_the_gate_has_exit_statuses_of_its_own(
    tmp_path: Path, noisy: int, goal: list[str], status: int
) -> None:
    before = write_run(tmp_path / "a.db", clean=20, noisy=20)
    after = write_run(tmp_path / "b.db", clean=20, noisy=noisy)
    assert compare(before, after, *goal).exit_code == status


def test_tasks_that_nobody_shares_are_said_not_to_be_paired(tmp_path: Path) -> None:
    before = write_run(tmp_path / "a.db", clean=20, noisy=20, of=20)
    after = write_run(tmp_path / "b.db", clean=20, noisy=20, of=20)
    with closing(sqlite3.connect(after)) as connection, connection:
        connection.execute("UPDATE session SET task_id = 'other-' || task_id")
    output = " ".join(compare(before, after).output.split())
    assert "No task is common: this isn't paired" in output


def test_noise_that_did_not_act_is_said(tmp_path: Path) -> None:
    before = write_run(tmp_path / "a.db", clean=20, noisy=20)
    after = write_run(tmp_path / "b.db", clean=20, noisy=20, injected=False)
    output = " ".join(compare(before, after).output.split())
    assert "After: nothing could be injected, because the tool isn't known to be repeatable" in output
    assert "Noisy success" not in output
    judged = compare(before, after, "--fail-below", "0.1")
    assert judged.exit_code == 3 and "nothing could be injected" in " ".join(judged.output.split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--only", "run=none"], "has no sessions with run=none"),
        (["--only", "run"], "'run' isn't LABEL=VALUE"),
        (["--max-drop", "7"], "--max-drop: 7 isn't a share"),
    ],
)
def test_options_that_mean_nothing_are_refused(tmp_path: Path, arguments: list[str], said: str) -> None:
    store = write_run(tmp_path / "a.db", clean=1, noisy=1, of=2)
    result = compare(store, store, *arguments)
    assert result.exit_code == 2
    assert said in result.output
