"""Integrity check of a store: SQLite's own checks, every turn decoded, every reference followed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any

from crosswind.gateway.trajectory.session_content import ContentReader
from crosswind.gateway.trajectory.sqlite.turn_rows import chain_keys
from crosswind.gateway.trajectory.turn_body import DamagedBody, LedgerBody, Place, TurnBody, decode_body

_MOST = 1000
"""Problems to list; further ones are only counted."""
_OF_SESSION = ("event", "reward", "generated_text", "delivered_id", "destroyed_answer")
_LOST = "SELECT count(*) FROM {table} WHERE session NOT IN (SELECT number FROM session)"
_LOST_TURNS = (
    "SELECT count(*) FROM turn "
    "WHERE session NOT IN (SELECT number FROM session UNION SELECT session FROM unswept)"
)
_LOST_DELIVERIES = "SELECT count(*) FROM delivery WHERE turn NOT IN (SELECT id FROM turn)"
_TURNS = """
SELECT session.id, turn_index, attempt, ledger, body, received_key, sent_key, prompt_key
FROM turn JOIN session ON number = session ORDER BY session, turn.id"""


@dataclass(slots=True)
class VerificationReport:
    """The result of a check of a whole store."""

    problems: list[str] = field(default_factory=list)
    """The first thousand problems, one line each."""
    more: int = 0
    """The number of further problems."""
    checked: dict[str, int] = field(default_factory=dict)

    @property
    def whole(self) -> bool:
        return not self.problems

    def add(self, problem: str) -> None:
        if len(self.problems) < _MOST:
            self.problems.append(problem)
        else:
            self.more += 1


def verify_store(connection: sqlite3.Connection) -> VerificationReport:
    """Check the whole store in the caller's snapshot. The report contains no content."""
    report = VerificationReport()
    for (line,) in connection.execute("PRAGMA integrity_check"):
        if line != "ok":
            report.add(f"SQLite: {line}")
    checks = {"turn": _LOST_TURNS, "delivery": _LOST_DELIVERIES}
    for table, query in ({table: _LOST.format(table=table) for table in _OF_SESSION} | checks).items():
        if lost := connection.execute(query).fetchone()[0]:
            of = "turn" if table == "delivery" else "session"
            report.add(f"{lost} rows of {table} belong to a {of} that is missing")
    report.checked = {"sessions": 0, "turns": 0}
    for session_id, rows in groupby(connection.execute(_TURNS), key=itemgetter(0)):
        report.checked["sessions"] += 1
        for problem in _check_turns(session_id, list(rows)):
            report.checked["turns"] += 1
            if problem is not None:
                report.add(problem)
    return report


def _check_turns(session_id: str, rows: list[Any]) -> Iterator[str | None]:
    """A session's turns, with None for each that is in order."""
    bodies: dict[Place, TurnBody] = {}
    reader = ContentReader(bodies.get)
    for _, index, attempt, ledger, stored, *keys in rows:
        place = index, attempt
        try:
            if ledger is not None:
                decode_body(ledger, LedgerBody)
            bodies[place] = decode_body(stored, TurnBody)
            content = reader.read(place, bodies[place])
            same = [*chain_keys(content.received, content.sent, content.prompt)] == keys
            problem = None if same else "its chains have other keys than its columns say"
        except DamagedBody as error:
            problem = str(error)
        yield None if problem is None else f"turn {index}, attempt {attempt} of {session_id!r}: {problem}"
