"""Writes the rows of a migrated session into the new store, and compares them with what is read back."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import structs

from crosswind.gateway.trajectory.content import pack
from crosswind.gateway.trajectory.json_text import storable
from crosswind.gateway.trajectory.likelihood import pack_top
from crosswind.gateway.trajectory.record import Turn
from crosswind.gateway.trajectory.session_content import SessionContent
from crosswind.gateway.trajectory.sqlite import queries
from crosswind.gateway.trajectory.sqlite.turn_rows import COLUMNS, encode_row, is_stored, load_known
from crosswind.gateway.trajectory.sqlite_blocks.session_rows import (
    ORDER,
    OWNED,
    REWARD_COLUMNS,
    SESSION_COLUMNS,
    OldSession,
    Values,
    ledger_by_turn,
)
from crosswind.gateway.trajectory.store import StoreError
from crosswind.gateway.trajectory.stored_turn import encode_ledger

_TURNS_AT_ONCE = 50


class SessionCopy:
    """Copies sessions into the store of a connection, in the caller's transactions."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def write(self, session: OldSession) -> Iterator[int]:
        """Write a session in steps; yields the number of turns of each. Rows that are there already stay as
        they are, so that a session is begun again after an interruption.
        """
        number = session.number
        self._insert("session", tuple(SESSION_COLUMNS), [session.values])
        rewards = [(number, *row) for row in session.rewards]
        self._insert("reward", ("session", *REWARD_COLUMNS), rewards)
        for table, columns in OWNED.items():
            self._insert(table, ("session", *columns), [(number, *row) for row in session.owned[table]])
        content = SessionContent(number)
        load_known(self._connection, content)
        waiting = list(ledger_by_turn(session))
        for at in range(0, len(waiting), _TURNS_AT_ONCE):
            for turn, arrival, shown, names in waiting[at : at + _TURNS_AT_ONCE]:
                if not is_stored(self._connection, number, turn):
                    row = encode_row(turn, content, encode_ledger(shown, names), arrival)
                    self._insert("turn", COLUMNS[: len(row)], [tuple(map(storable, row))])
            yield len(waiting[at : at + _TURNS_AT_ONCE])

    def _insert(self, table: str, columns: Sequence[str], rows: list[Values]) -> None:
        insert_rows(self._connection, table, columns, rows)

    def compare(self, session: OldSession) -> None:
        """Read a session back. Raises StoreError where it differs from what was to be written."""
        number, turns = session.number, sorted(session.turns, key=lambda turn: (turn.index, turn.attempt))
        places = [
            (turn.index, turn.attempt, arrival)
            for turn, arrival in zip(session.turns, session.arrivals, strict=True)
        ]
        found = queries.turns(self._connection, session.id)
        _require(session, "turns", list(map(_exact, turns)), list(map(_exact, found)))
        listed = self._select("turn", ("turn_index", "attempt", "arrival"), number, order="id")
        _require(session, "order of turns", places, listed)
        if turns:
            _require(session, "ledger", session.shown, queries.ledger(self._connection, session.id))
            _require(session, "tool names", session.names, queries.names(self._connection, session.id))
        row = self._select("session", tuple(SESSION_COLUMNS), number, key="number")
        _require(session, "columns", [session.values], row)
        rewards = self._select("reward", REWARD_COLUMNS, number, order="arrival, id")
        _require(session, "rewards", session.rewards, rewards)
        for table, columns in OWNED.items():
            order = ORDER.get(table, "rowid")
            rows = self._select(table, columns, number, order=order)
            _require(session, f"rows of {table}", session.owned[table], rows)

    def _select(
        self, table: str, columns: Sequence[str], number: int, *, key: str = "session", order: str = "number"
    ) -> list[Values]:
        query = f"SELECT {', '.join(columns)} FROM {table} WHERE {key} = ? ORDER BY {order}"
        return self._connection.execute(query, (number,)).fetchall()


def _require(session: OldSession, what: str, wanted: Sequence[Any], found: Sequence[Any]) -> None:
    if wanted != found:
        raise StoreError(f"session {session.id!r} came out with other {what}; please report this")


def _exact(turn: Turn) -> tuple[Turn, Any]:
    """A turn that is equal to another one only if their numbers are the same to the last bit."""
    choices = [
        (
            one.index,
            one.finish_reason,
            one.versions,
            pack("i", one.token_ids),
            pack("d", one.logprobs),
            pack_top(one.top_logprobs),
        )
        for one in turn.completions
    ]
    return structs.replace(turn, completions=()), choices


def insert_rows(
    connection: sqlite3.Connection, table: str, columns: Sequence[str], rows: list[Values]
) -> None:
    """Insert rows of a table. Those that are there already stay as they are."""
    if rows:
        marks = ", ".join("?" * len(columns))
        connection.executemany(
            f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks}) ON CONFLICT DO NOTHING", rows
        )
