"""`crosswind demo` in small: it ends well, its report is whole, and every number is that of its own run."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import sqlite3
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests.loop.children import ROOT, Children, marked

SIZES = ("--steps", "2", "--groups-per-step", "2", "--group-size", "8", "--tasks", "24")
DEMO_S = 600.0
LOADING = {"src", "srcset", "href", "xlink:href", "data", "action", "poster", "background"}


class Page(HTMLParser):
    """What a page loads, and its table's rows."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.tags: set[str] = set()
        self.rows: list[list[str]] = []
        self._cell: list[str] | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.loads += [value for name, value in attrs if name in LOADING and value is not None]
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self._cell = []

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th") and self._cell is not None:
            self.rows[-1].append("".join(self._cell).strip())
            self._cell = None

    def handle_data(self, data: str) -> None:
        if self._cell is not None:
            self._cell.append(data)


def test_the_demo_ends_well_and_every_number_is_its_own(
    children: Children, tmp_path: Path, mark: str
) -> None:
    out = tmp_path / "demo"
    said = children.run("demo", *SIZES, "--out", str(out), timeout_s=DEMO_S, environment={"DEMO_MARK": mark})
    with closing(sqlite3.connect(out / "crosswind.db")) as store:
        counted = _counted(store)
        injected = dict(
            store.execute("SELECT operator, count(*) FROM event WHERE after IS NOT NULL GROUP BY operator")
        )
        unpaid = store.execute(
            "SELECT count(*) FROM session WHERE status != 'closed' OR reward_state = 'expired'"
        ).fetchone()[0]
    before, after, comparison = (
        json.loads((out / f"{name}.json").read_text()) for name in ("before", "after", "comparison")
    )
    assert _printed(said) == counted
    assert unpaid == 0
    assert counted["training steps"] == 2 and counted["noise events"] > 10
    assert before["policy_version"] == "retail"
    page_text = (out / "report.html").read_text()
    _check_page(Page(page_text), page_text, counted, before, after)
    _check_table(said, before, after, comparison)
    _check_types(said, page_text, before, after, injected)
    assert not marked(mark)


def _check_types(
    said: str, page: str, before: dict[str, Any], after: dict[str, Any], injected: dict[str, int]
) -> None:
    """Each of five noise types has a line, printed and on the page."""
    types = [name for name in before["arms"] if name not in ("clean", "noisy")]
    assert len(types) >= 5 and set(types) <= set(injected)
    rows = [row for row in Page(page).rows if row and row[0] in types and len(row) == 10]
    assert [row[0] for row in rows] == types
    for row in rows:
        tasks = before["arms"][row[0]]["by_task"]
        calm, noisy = (
            [
                100 * sum(run["arms"][arm]["by_task"][task] for task in tasks) / len(tasks)
                for run in (before, after)
            ]
            for arm in ("clean", row[0])
        )
        assert row[1] == f"{injected[row[0]]:,}" and row[3] == str(len(tasks))
        assert row[4:8] == [f"{value:.1f}" for pair in zip(calm, noisy, strict=True) for value in pair]
        undivided = [clean - met for clean, met in zip(calm, noisy, strict=True)]
        exposed = [100 * run["arms"][row[0]]["cost"]["exposure_rate"] for run in (before, after)]
        lost = [100 * each / share for each, share in zip(undivided, exposed, strict=True)]
        assert row[8:] == [f"{gap:.1f} ({whole:.1f})" for gap, whole in zip(lost, undivided, strict=True)]
        shown = [f"{first:.1f} → {second:.1f}" for first, second in (calm, noisy, lost)]
        shown.insert(2, f"{exposed[0]:.0f}→{exposed[1]:.0f}")
        assert " ".join((row[0], row[1], row[3], *shown)) in " ".join(said.split())


def _counted(store: sqlite3.Connection) -> dict[str, int]:
    def count(query: str) -> int:
        return int(store.execute(query).fetchone()[0])

    return {
        "sessions": count("SELECT count(*) FROM session"),
        "turns": count("SELECT count(*) FROM turn"),
        "noise events": count("SELECT count(*) FROM event"),
        "training steps": count("SELECT count(*) FROM train_step WHERE completed_us IS NOT NULL"),
        "updates": count("SELECT sum(json_extract(metrics_json, '$.optimiser_steps')) FROM train_step"),
        "policy versions served": count(
            "SELECT count(*) FROM (SELECT policy_first FROM turn WHERE policy_first IS NOT NULL"
            " UNION SELECT policy_last FROM turn WHERE policy_last IS NOT NULL)"
        ),
    }


def _printed(said: str) -> dict[str, int]:
    names = (
        "sessions",
        "turns",
        "noise events",
        "training steps",
        "updates",
        "policy versions served",
    )
    (line,) = (line for line in said.splitlines() if "policy versions served" in line)
    found = {name: re.search(rf"([\d,]+) {name}", line) for name in names}
    return {name: int(match[1].replace(",", "")) for name, match in found.items() if match}


def _percent(value: float, sign: str = "") -> str:
    return f"{100 * value:{sign}.1f}"


def _figures(arm: dict[str, Any], value: str, sign: str = "") -> list[str]:
    low, high = _percent(arm["low"], sign), _percent(arm["high"], sign)
    return [_percent(arm[value], sign), f"[{low}, {high}]"]


def _check_page(
    page: Page, text: str, counted: dict[str, int], before: dict[str, Any], after: dict[str, Any]
) -> None:
    assert all(target.startswith(("#", "data:")) for target in page.loads), page.loads
    assert not page.tags & {"script", "link", "iframe", "img", "object", "embed"}
    assert "@import" not in text and not re.search(r"url\((?!['\"]?#)", text)
    for name, count in counted.items():
        shown = "events" if name == "noise events" else name
        assert f"<b>{count:,}</b>{shown}" in text
    # Other tables of the page have rows of the same names: behind those of the arms, and, by purpose, before.
    rows = {row[0]: row for row in reversed(page.rows) if row[1:2] not in (["eval"], ["train"])}
    for name, arm in before["arms"].items():
        assert rows[name][1] == str(arm["n"])
        assert rows[name][2:6] == [*_figures(arm, "success"), *_figures(after["arms"][name], "success")]
    assert {"svg"} <= page.tags and "One noisy session" in text


def _check_table(
    said: str, before: dict[str, Any], after: dict[str, Any], comparison: dict[str, Any]
) -> None:
    # The rows of the arms come first; each noise type has one more line further down.
    printed = [" ".join(line.split()) for line in said.splitlines() if line.strip()]
    lines = {line.split()[0]: line for line in reversed(printed)}
    for name, arm in before["arms"].items():
        figures = [str(arm["n"]), *_figures(arm, "success"), *_figures(after["arms"][name], "success")]
        assert lines[name].startswith(" ".join([name, *figures]))
    noisy = comparison["arms"]["noisy"]
    difference, interval = _figures(noisy, "difference", "+")
    assert lines["noisy"].endswith(f"{difference} {interval}")
    rose = "Noisy success rose" in said
    assert rose == (noisy["low"] > 0)
    assert rose or "did not rise" in said or "FELL" in said, "the demo says plainly what came of it"


@pytest.fixture
def mark(tmp_path: Path) -> str:
    """In the environment of a demo and of all that it starts."""
    return f"loop-test-{tmp_path}-"


def test_a_busy_port_ends_the_demo_with_one_line(children: Children, tmp_path: Path, mark: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = str(busy.getsockname()[1])
        said = _failing(children, mark, "--ports", "0", port, "0", "--out", str(tmp_path / "demo"))
    assert f"port {port} on 127.0.0.1 can't be used" in said and "give another --port" in said


def test_a_broken_policy_ends_the_demo_with_one_line(children: Children, tmp_path: Path, mark: str) -> None:
    policy = tmp_path / "policy"
    shutil.copytree(ROOT / "policies" / "pretrained" / "retail", policy)
    weights = policy / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:5000])
    said = _failing(children, mark, "--policy", str(policy), "--out", str(tmp_path / "demo"))
    assert str(policy) in said


def test_rollouts_that_die_end_the_demo_at_once(children: Children, tmp_path: Path, mark: str) -> None:
    out = tmp_path / "demo"
    demo = children.start("demo", *SIZES, "--steps", "15", "--out", str(out), environment={"DEMO_MARK": mark})

    def rollouts() -> list[int]:
        return [pid for pid, command in marked(mark).items() if "rollout run" in command]

    demo.until(lambda: bool(rollouts()))
    os.kill(rollouts()[0], signal.SIGKILL)
    assert demo.process.wait(DEMO_S) == 1, demo.said
    assert "`crosswind rollout` ended with exit code -9" in demo.said and "Traceback" not in demo.said
    assert not marked(mark)


def _failing(children: Children, mark: str, *arguments: str) -> str:
    """A demo that must fail in one line and leave nothing running; gives that line."""
    demo = children.start("demo", *SIZES, *arguments, environment={"DEMO_MARK": mark})
    assert demo.process.wait(DEMO_S) in (1, 2), demo.said
    assert not marked(mark)
    (line,) = (line for line in demo.said.splitlines() if line.startswith("crosswind: "))
    assert demo.said.endswith(f"{line}\n") and "Traceback" not in demo.said
    return line


def test_a_folder_that_is_no_demos_is_left_alone(children: Children, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    demo = children.start("demo", "--out", str(tmp_path / "mine"))
    assert demo.process.wait(DEMO_S) == 1
    assert "name another folder" in demo.said and len(demo.said.splitlines()) == 1
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"


def test_sigterm_ends_the_demo_and_all_it_started(children: Children, tmp_path: Path, mark: str) -> None:
    demo = children.start("demo", *SIZES, "--out", str(tmp_path / "demo"), environment={"DEMO_MARK": mark})
    demo.until(lambda: "Before training" in demo.said)
    assert len(marked(mark)) >= 3
    assert demo.stop() == 1
    assert not marked(mark)
    assert "stopped; what was recorded is in" in demo.said and "Traceback" not in demo.said
