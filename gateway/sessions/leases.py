"""Leases on turn positions, so that no two workers use the same one.

A turn is in the store once it is complete; until then the store doesn't show other workers that its index is
taken, nor which turn it continues. So each position is leased first: an entry in a log that all workers of
the run append to and read, under one short lock. Every worker then gives a turn the position that a single
process would have given it. The log is never synced and needn't outlive the run. A killed process keeps its
leases.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from crosswind.gateway.sessions.turns import TurnIndex, TurnPosition, TurnRequest
from crosswind.gateway.trajectory.sqlite.connection import commit, retry_while_busy
from crosswind.gateway.trajectory.sqlite.schema import split_statements

_KEPT = 200_000
"""Leases that are kept; older turns are in the store by far."""
_PRUNE_EVERY = 1_000
_WAIT_S, _PAUSE_S = 1.0, 0.0005
_START_S = 60.0
"""How long a start waits for the other processes' starts."""
_SCHEMA = """
CREATE TABLE IF NOT EXISTS claim (
  id INTEGER PRIMARY KEY, session_id TEXT NOT NULL, turn_index INTEGER NOT NULL, attempt INTEGER NOT NULL,
  parent INTEGER, branch TEXT NOT NULL, chain BLOB, digest BLOB NOT NULL, says BLOB, idempotency TEXT
);
CREATE INDEX IF NOT EXISTS claim_session ON claim (session_id);
CREATE TABLE IF NOT EXISTS first_turn (
  id INTEGER PRIMARY KEY, body BLOB NOT NULL UNIQUE, session_id TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS number (name TEXT PRIMARY KEY, next INTEGER NOT NULL);
"""
_SINCE = (
    "SELECT id, turn_index, attempt, parent, branch, chain, digest, says, idempotency FROM claim "
    "WHERE session_id = ? AND id > ? ORDER BY id"
)
_CLAIM = (
    "INSERT INTO claim "
    "(session_id, turn_index, attempt, parent, branch, chain, digest, says, idempotency) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_BEGAN = "INSERT OR REPLACE INTO first_turn (body, session_id) VALUES (?, ?)"
_BEGUN = "SELECT session_id FROM first_turn WHERE body = ?"
_NEXT = "INSERT INTO number VALUES (?, 1) ON CONFLICT DO UPDATE SET next = next + 1 RETURNING next - 1"


class LeasesUnavailable(Exception):
    """The log can't be read or written, so free positions are unknown."""


@contextmanager
def translate_errors() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise LeasesUnavailable(str(error)) from error


class SharedLog:
    """A log in a file that all workers of a run append to and read, or in memory. It runs on the event loop's
    thread, so it polls for the lock and never blocks.
    """

    def __init__(self, file: Path | None, schema: str) -> None:
        """Raises LeasesUnavailable, where the folder is gone: the supervisor was killed during the start."""
        with translate_errors():
            self._connection = sqlite3.connect(file or ":memory:", timeout=_START_S, isolation_level=None)
            # All processes come here at once, and SQLite doesn't wait for others that switch the mode.
            retry_while_busy(self._connection, "PRAGMA journal_mode = WAL", _START_S)
            self._connection.execute("PRAGMA synchronous = OFF")
            retry_while_busy(self._connection, "BEGIN IMMEDIATE", _START_S)
            with commit(self._connection):
                for statement in split_statements(schema):
                    self._connection.execute(statement)
            self._connection.execute("PRAGMA busy_timeout = 0")

    @asynccontextmanager
    async def _writing(self) -> AsyncIterator[sqlite3.Connection]:
        """A transaction. Workers hold its lock for some ten microseconds; a killed one releases it."""
        with translate_errors():
            await self._begin()
            with commit(self._connection):
                yield self._connection

    async def _begin(self) -> None:
        until = asyncio.get_running_loop().time() + _WAIT_S
        while True:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as error:
                busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
                if not busy or asyncio.get_running_loop().time() > until:
                    raise
            await asyncio.sleep(_PAUSE_S)

    def close(self) -> None:
        self._connection.close()


class TurnLeases(SharedLog):
    """The log of positions in `file`."""

    def __init__(self, file: Path) -> None:
        super().__init__(file, _SCHEMA)

    async def place(self, session_id: str, turns: TurnIndex, request: TurnRequest) -> TurnPosition:
        """Lease the position of a request, behind all earlier leases. Raises LeasesUnavailable."""
        async with self._writing() as connection:
            for row, index, attempt, parent, branch, key, body, says, named in connection.execute(
                _SINCE, (session_id, turns.claimed)
            ):
                turns.add(TurnPosition(index, attempt, parent, branch), key, body, says, named)
                turns.claimed = row
            place = turns.place(request)
            own = None if request.after is not None else request.chain
            key, says = (None, None) if own is None else (own.key, own.says)
            where = (session_id, place.index, place.attempt, place.parent, place.branch)
            values = (*where, key, request.digest, says, request.idempotency)
            turns.claimed = connection.execute(_CLAIM, values).lastrowid or turns.claimed
            if turns.claimed % _PRUNE_EVERY == 0:
                connection.execute("DELETE FROM claim WHERE id <= ?", (turns.claimed - _KEPT,))
        return place

    async def began(self, body: bytes, session_id: str) -> None:
        """Record that a session began with this body. Raises LeasesUnavailable."""
        async with self._writing() as connection:
            row = connection.execute(_BEGAN, (body, session_id)).lastrowid or 0
            if row % _PRUNE_EVERY == 0:
                connection.execute("DELETE FROM first_turn WHERE id <= ?", (row - _KEPT,))

    def begun(self, body: bytes) -> str | None:
        """The latest session, of any worker, that began with this body. Raises LeasesUnavailable."""
        with translate_errors():
            row = self._connection.execute(_BEGUN, (body,)).fetchone()
        return None if row is None else str(row[0])

    async def number(self, name: str) -> int:
        """The next number of this name, from 0; none is used twice. Raises LeasesUnavailable."""
        async with self._writing() as connection:
            number: int = connection.execute(_NEXT, (name,)).fetchone()[0]
        return number
