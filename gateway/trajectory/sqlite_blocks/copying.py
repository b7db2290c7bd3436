"""Copies an old store into a new one, session by session, and compares what came out."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing

from crosswind.gateway.trajectory.sqlite.connection import commit
from crosswind.gateway.trajectory.sqlite_blocks.other_rows import copy_other_rows
from crosswind.gateway.trajectory.sqlite_blocks.session_copy import SessionCopy
from crosswind.gateway.trajectory.sqlite_blocks.session_rows import OldSession, read_session
from crosswind.gateway.trajectory.store import StoreError

_ROWS_AT_ONCE = 500
"""How many sessions and turns one transaction writes, about."""
# In the order of their last turns, so that the newest turn is the last one in the new store, too.
_SESSIONS = """
SELECT last, number, id FROM (
  SELECT coalesce((SELECT max(turn.rowid) FROM turn WHERE session_id = session.id), 0) AS last, number, id
  FROM session
) WHERE (last, number) > (?, ?) ORDER BY last, number"""

Progress = Callable[[int, int], None]
"""Told the turns that are done, and all."""


class Copying:
    """Copies a store, or goes on where an earlier run stopped."""

    def __init__(self, old: sqlite3.Connection, new: sqlite3.Connection, progress: Progress) -> None:
        self._old = old
        self._new = new
        self._progress = progress
        self._copy = SessionCopy(new)
        self._written: list[OldSession] = []
        """Sessions that are still to be compared."""
        self._rows = 0
        """How many sessions and turns the open transaction has written."""

    def run(self) -> None:
        """Raises StoreError where the new store doesn't come out equal to the old one."""
        last = self._new.execute("SELECT turn, session FROM migration").fetchone()
        done, total = (_count(connection, "turn") for connection in (self._new, self._old))
        self._begin()
        # An open cursor would keep the old store locked.
        with closing(self._old.execute(_SESSIONS, last)) as sessions:
            for turn, number, session_id in sessions:
                session = read_session(self._old, session_id)
                self._write(session)
                done += len(session.turns)
                if self._rows >= _ROWS_AT_ONCE:
                    self._settle(turn, number)
                    self._progress(min(done, total), total)
        self._new.execute("COMMIT")
        self._compare()
        self._new.execute("BEGIN IMMEDIATE")
        with commit(self._new):
            copy_other_rows(self._old, self._new)
        for table in ("session", "turn", "event", "reward"):
            if _count(self._old, table) != _count(self._new, table):
                raise StoreError(f"the new store has another number of {table} rows; please report this")

    def _begin(self) -> None:
        self._new.execute("BEGIN IMMEDIATE")
        self._rows = 0

    def _write(self, session: OldSession) -> None:
        self._written.append(session)
        self._rows += 1
        for turns in self._copy.write(session):
            self._rows += turns
            if self._rows >= 2 * _ROWS_AT_ONCE:
                self._new.execute("COMMIT")
                self._begin()

    def _settle(self, turn: int, number: int) -> None:
        """Commit and compare what is written; the next transaction notes it."""
        self._new.execute("COMMIT")
        self._compare()
        self._begin()
        self._new.execute("UPDATE migration SET turn = ?, session = ?", (turn, number))

    def _compare(self) -> None:
        for session in self._written:
            self._copy.compare(session)
        self._written.clear()


def _count(connection: sqlite3.Connection, table: str) -> int:
    count: int = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    return count
