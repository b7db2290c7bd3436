"""The drop tables of `crosswind report`: what is printed, written, and left out."""

from __future__ import annotations

import json
import shlex
import sqlite3
from contextlib import closing
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from crosswind.gateway.cli import root
from crosswind.studies.drop.sections import Section
from crosswind.studies.drop.text import write_csv, write_markdown, write_text
from tests.studies.stored_runs import write_run


def report(tmp_path: Path, store: str, *arguments: str) -> Result:
    return CliRunner().invoke(
        root, ["report", "--store", store, "--out", str(tmp_path / "report.html"), *arguments]
    )


def test_the_drop_is_printed_and_stands_on_the_page(tmp_path: Path) -> None:
    result = report(tmp_path, write_run(tmp_path / "a.db", clean=18, noisy=9))
    assert result.exit_code == 0, result.output
    output = " ".join(result.output.split())
    assert "Success went from 90.0 % clean to 45.0 % under noise: -45.0 points" in output
    assert "tool.timeout 20/20 20 0 -45.0 -45.0" in output
    assert "9 lost, 0 gained" in output
    assert max(map(len, result.output.splitlines()[:-1])) <= 80
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "Success went from 90.0 % clean to 45.0 % under noise" in page
    assert "By operator" in page and "Flipped under noise" in page


def test_noise_that_never_acted_has_no_success(tmp_path: Path) -> None:
    result = report(tmp_path, write_run(tmp_path / "a.db", clean=18, noisy=9, injected=False))
    output = " ".join(result.output.split())
    assert "Nothing could be injected, because the tool isn't known to be repeatable (20 times)" in output
    assert "under noise:" not in output
    assert "tool.timeout: nothing could be injected" in output
    assert "flaky: nothing could be injected" not in output, "the only profile: the first line tells it"
    assert "noisy 20 20 no noise acted" in output


def test_arms_are_told_by_labels_where_that_is_asked_for(tmp_path: Path) -> None:
    store = write_run(tmp_path / "a.db", clean=20, noisy=20, release="old")
    write_run(tmp_path / "a.db", clean=10, noisy=10, release="new")
    result = report(tmp_path, store, "--clean", "release=old", "--noisy", "release=new")
    assert "Success went from 100.0 % clean to 50.0 % under noise" in " ".join(result.output.split())


def test_each_purpose_has_figures_of_its_own_and_the_gate_wants_one(tmp_path: Path) -> None:
    store = write_run(tmp_path / "a.db", clean=20, noisy=20, purpose="eval")
    write_run(tmp_path / "a.db", clean=20, noisy=0, purpose="train")
    assert report(tmp_path, store).output.count("Success went from") == 2
    refused = report(tmp_path, store, "--fail-below", "0.5")
    assert refused.exit_code == 2 and "name one with --only purpose=" in refused.output
    figures = tmp_path / "figures.json"
    failed = report(tmp_path, store, "--only", "purpose=train", "--fail-below", "0.5", "--json", str(figures))
    assert failed.exit_code == 4, failed.output
    assert json.loads(figures.read_text())["purpose"] == "train"


FORMATS = ("json", "csv", "markdown", "junit")


def outputs(tmp_path: Path) -> list[str]:
    return [part for name in FORMATS for part in (f"--{name}", str(tmp_path / f"out.{name}"))]


@pytest.mark.parametrize("rewarded", [True, False])
def test_files_are_written_of_a_store_without_a_clean_arm(tmp_path: Path, rewarded: bool) -> None:
    store = write_run(tmp_path / "a.db", clean=0, noisy=9, rewarded=rewarded)
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("DELETE FROM session WHERE arm = 'clean'")
        connection.commit()
    result = report(tmp_path, store, *outputs(tmp_path))
    assert result.exit_code == 0, result.output
    assert "no drop in success to tell" in result.stderr
    written = {name: (tmp_path / f"out.{name}").read_text() for name in FORMATS}
    figures = json.loads(written["json"])
    assert list(figures["arms"]) == ["noisy"]
    assert figures["arms"]["noisy"]["success"] == (0.45 if rewarded else None)
    assert figures["drop"]["unpaired"] is None
    assert "tool.timeout" in written["csv"] and "tool.timeout" in written["markdown"]
    ElementTree.fromstring(written["junit"])
    plain = report(tmp_path, store)
    assert plain.exit_code == 0 and "no drop in success to tell" in plain.stderr


def test_files_that_would_hold_nothing_or_the_last_of_several_purposes_are_refused(tmp_path: Path) -> None:
    store = write_run(tmp_path / "a.db", clean=9, noisy=9, purpose="eval")
    nothing = report(tmp_path, store, "--only", "purpose=none", *outputs(tmp_path))
    assert nothing.exit_code == 2 and "the store has no session to tell of" in nothing.stderr
    write_run(tmp_path / "a.db", clean=9, noisy=9, purpose="train")
    several = report(tmp_path, store, "--json", str(tmp_path / "out.json"))
    assert several.exit_code == 2 and "name one with --only purpose=" in several.stderr
    assert not (tmp_path / "out.json").exists()
    write_run(tmp_path / "a.db", clean=9, noisy=4)
    one = report(tmp_path, store, "--only", "purpose=", "--json", str(tmp_path / "out.json"))
    assert one.exit_code == 0, one.output
    assert json.loads((tmp_path / "out.json").read_text())["purpose"] == ""


HOSTILE = Section("T", ("task", "value"), (("=cmd|' /C calc'!A0", "-1.5"), ("<b>|x", "+2")))


def test_an_option_stays_on_one_line() -> None:
    text = write_text([Section("T", lines=("Give it --tools-read-only sh.",))], 20)
    assert "--tools-read-only" in text.splitlines()[1]


def test_names_of_tasks_are_no_markup_and_no_formulas() -> None:
    assert "\\<b\\>\\|x" in write_markdown([HOSTILE], "t")
    written = write_csv([HOSTILE])
    assert "'=cmd" in written
    assert ",-1.5" in written
    assert write_csv([Section("T", ("a", "b"), (("x", ""),))]).endswith("T,x,\n")


def test_a_wide_table_fits_80_columns() -> None:
    long = "schema.duplicate_description_wrong_parameters"
    rows = tuple((f"{long}{number}", "1,000/1,000", "-45.0", "[-72.7, -18.2]") for number in range(30))
    text = write_text([Section("Wide", ("operator", "met", "exposed", "95 %"), rows)], 60)
    assert max(map(len, text.splitlines())) <= 60
    assert "… and 10 more" in text


def test_a_table_is_folded_by_the_variable_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    heads = ("operator", "met", "injected", "withheld", "assigned", "exposed", "95 %")
    row = ("tool.execution_failure", "12/16", "12", "3", "-75.0", "-100.0", "[-100.0, -100.0]")
    monkeypatch.setenv("COLUMNS", "60")
    lines = write_text([Section("By operator", heads, (row,), "Points of success. " * 9)]).splitlines()
    assert max(map(len, lines)) <= 60
    assert lines[1:3] == ["operator", "    met injected withheld assigned exposed             95 %"]
    assert lines[3:5] == [
        "tool.execution_failure",
        "  12/16       12        3    -75.0  -100.0 [-100.0, -100.0]",
    ]
    monkeypatch.setenv("COLUMNS", "120")
    assert "tool.execution_failure  12/16" in write_text([Section("By operator", heads, (row,))])


def test_live_traffic_without_tasks_is_told_unpaired(tmp_path: Path) -> None:
    store = write_run(tmp_path / "a.db", clean=20, noisy=10)
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE session SET task_id = NULL")
    output = " ".join(report(tmp_path, store).output.split())
    assert "Success is 100.0 % clean and 50.0 % under noise: -50.0 points" in output
    assert "No task is in both arms: this isn't paired" in output
    assert "tool.timeout 20/20 20 0 – -50.0" in output


def test_no_difference_is_no_certainty(tmp_path: Path) -> None:
    """1 − 0.05^(1/20) = 13.9 %."""
    output = " ".join(report(tmp_path, write_run(tmp_path / "a.db", clean=20, noisy=20)).output.split())
    assert "No task differed. A loss in up to 13.9 % of such tasks can't be ruled out (95 %)." in output


def test_junit_says_how_to_see_a_failed_session(tmp_path: Path) -> None:
    store = write_run(tmp_path / "a b.db", clean=12, noisy=10)
    report(tmp_path, store, "--junit", str(tmp_path / "j.xml"))
    failures = ElementTree.parse(tmp_path / "j.xml").getroot().iter("failure")
    lines = [line for failure in failures for line in (failure.text or "").splitlines()]
    assert len(lines) == 2
    shown = CliRunner().invoke(root, shlex.split(lines[0])[1:])
    assert shown.exit_code == 0 and "injected: tool.timeout" in shown.output
