"""The command: its page, its exit code, and the sheets of blind readers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.noise_quality.readers import SheetError, judge_readers, read_grades, score, weigh_agreement
from benchmarks.noise_quality.sheets import write_sheets
from tests.benchmarks.noise_quality.conversations import make_samples

COMMAND = [sys.executable, "-m", "benchmarks.noise_quality"]


def test_a_missed_aim_is_an_error_where_it_is_asked_for(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    options = ["--own-only", "--only", "tool.redundant", "--seeds", "3", "--out", str(page)]
    ended = subprocess.run([*COMMAND, *options, "--check"], check=False, capture_output=True, text=True)
    assert ended.returncode == 1, ended.stderr
    assert "MISSED" in ended.stdout
    text = page.read_text()
    assert "| `tool.redundant` | `agentnoisebench/all` |" in text and "## Blind readers" in text


def _fill(folder: Path, into: Path, key: Path, noisy: int, clean: int) -> None:
    """A reader who knows the key."""
    entries = [json.loads(line) for line in key.read_text().splitlines()]
    grades = {one["id"]: noisy if one["noisy"] else clean for one in entries}
    into.mkdir()
    for path in folder.glob("*.jsonl"):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        filled = [{**one, "equivalence": 5, "naturalness": grades[one["id"]]} for one in lines]
        (into / path.name).write_text("".join(json.dumps(one) + "\n" for one in filled))


def test_sheets_are_blind_and_scored_with_their_key(tmp_path: Path) -> None:
    folder, key = tmp_path / "sheets", tmp_path / "apart" / "key.jsonl"
    idle = write_sheets(
        make_samples(30), folder, key, only=["user.typos", "user.redundant"], count=10, seed=3
    )
    assert idle == []
    sheets = sorted(folder.glob("*.jsonl"))
    assert len(sheets) == 2 and all(len(path.read_text().splitlines()) == 20 for path in sheets)
    for path in folder.iterdir():
        assert "typos" not in path.read_text() and "noisy" not in path.read_text()
    _fill(folder, tmp_path / "a", key, noisy=3, clean=5)
    _fill(folder, tmp_path / "b", key, noisy=4, clean=5)
    scored = score(key, [tmp_path / "a", tmp_path / "b"])
    assert [one.operator for one in scored] == ["user.redundant", "user.typos"]
    for one in scored:
        assert (one.bad.count, one.bad.of, one.bad_clean.count) == (10, 20, 0)
        assert one.apart == {"equivalence": 0.0, "naturalness": 1.5}
        assert one.kappa["equivalence"] is None and 0 < (one.kappa["naturalness"] or 0) < 1
    assert [one.met for one in judge_readers(scored)] == [False, False]


def test_a_grade_out_of_range_is_named(tmp_path: Path) -> None:
    path = tmp_path / "sheet-00.jsonl"
    path.write_text('{"id": "a", "equivalence": 5, "naturalness": 5}\n{"id": "b", "naturalness": 6}\n')
    with pytest.raises(SheetError, match=r"sheet-00.jsonl, line 2: naturalness is 6"):
        read_grades(path)


def test_agreement_is_one_for_equal_grades_and_nothing_by_chance() -> None:
    assert weigh_agreement([(1, 1), (5, 5), (3, 3)]) == 1.0
    assert weigh_agreement([(1, 1), (1, 5), (5, 1), (5, 5)]) == 0.0
    assert weigh_agreement([(4, 4), (4, 4)]) is None
