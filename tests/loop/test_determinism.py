"""With the policy frozen, equal seeds write equal event tables, whatever runs at once."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.loop.children import Children

ARGUMENTS = ("--groups", "4", "--group-size", "8", "--profile", "noisyagent", "--seed", "3")
EVENTS = """
SELECT task_id, group_id, rollout_index, turn_index, attempt, event.ordinal, operator, site, slot, anchor,
       logical_call, severity, draw_json, clean_hash, before, after, recovery, note, tool, tool_class,
       event.version
FROM event JOIN session ON session.number = event.session
ORDER BY task_id, group_id, rollout_index, turn_index, event.ordinal, attempt
"""
ANCHOR = 9
LEFT_OUT = {"id", "session", "created_us"}
"""Ids and times: all that may differ."""
OUTCOMES = "SELECT task_id, group_id, rollout_index, arm, plan_json, reward FROM session ORDER BY 1, 2, 3"


def test_equal_seeds_write_equal_event_tables(children: Children, tmp_path: Path) -> None:
    engine = children.engine()
    runs = [
        _recorded(children, engine, tmp_path / f"run-{number}.db", concurrency)
        for number, concurrency in enumerate(("16", "16", "3"))
    ]
    events, outcomes = runs[0]
    assert len(events) >= 10 and len({row[6] for row in events}) >= 3, "too little noise to prove anything"
    assert len(outcomes) == 32
    for again in runs[1:]:
        assert again[0] == events
        assert again[1] == outcomes


def _recorded(children: Children, engine: str, store: Path, concurrency: str) -> tuple[list[Any], list[Any]]:
    gateway = children.gateway(engine, store, "--seed", "5")
    children.run("rollout", "run", "--control", gateway.control, *ARGUMENTS, "--concurrency", concurrency)
    assert gateway.child.stop() == 0, gateway.child.said
    with closing(sqlite3.connect(store)) as connection:
        columns = {row[1] for row in connection.execute("PRAGMA table_info(event)")}
        assert all(name in EVENTS for name in columns - LEFT_OUT), "a column is not compared"
        events = [_without_call_id(row) for row in connection.execute(EVENTS)]
        return events, connection.execute(OUTCOMES).fetchall()


def _without_call_id(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """The row with its call's id, which the engine draws, taken out of the anchor; its occurrence stays."""
    anchor = row[ANCHOR]
    return (*row[:ANCHOR], re.sub(r"^call:.*(?=#)", "call:", anchor), *row[ANCHOR + 1 :])
