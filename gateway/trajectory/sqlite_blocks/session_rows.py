"""The rows of one session in a store of version 9 or 10, as they go into a store of today's schema."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from crosswind.gateway.trajectory.ledger_rows import NameMap, Shown
from crosswind.gateway.trajectory.record import Turn
from crosswind.gateway.trajectory.sqlite.columns import (
    DELIVERED_ID,
    DESTROYED_ANSWER,
    EVENT,
    GENERATED_TEXT,
    SESSION,
)
from crosswind.gateway.trajectory.sqlite_blocks.reader import read_ledger, read_names, read_turns
from crosswind.gateway.trajectory.store import StoreError

Values = tuple[Any, ...]

# Older rows have no arrival, and their own times stand in.
SESSION_COLUMNS = {
    **{name: name for name in ("number", *SESSION.names, "rewarded_us")},
    "arrival": "coalesce(arrival, created_us)",
    "closed_arrival": "coalesce(closed_arrival, CASE WHEN arrival IS NULL THEN closed_us END)",
    "rewarded_arrival": "coalesce(rewarded_arrival, CASE WHEN arrival IS NULL THEN rewarded_us END)",
}
"""The columns of `session`, with what gives their values."""
OWNED: dict[str, tuple[str, ...]] = {
    table.name: tuple(name for name in table.names if name != "session")
    for table in (EVENT, GENERATED_TEXT, DELIVERED_ID, DESTROYED_ANSWER)
}
"""The columns of the tables with rows of a session that are copied as they are."""
# Operators had no version then.
OWNED["event"] = tuple(name for name in OWNED["event"] if name != "version")
OWNED["generated_text"] = ("rowid", *OWNED["generated_text"])
REWARD_COLUMNS = ("id", "created_us", "arrival", "reward", "components_json", "source")
ORDER = {"delivered_id": "name", "destroyed_answer": "turn_index, attempt"}
"""The order of their rows, where it isn't that of writing."""


@dataclass(frozen=True, slots=True)
class OldSession:
    """A session with its rows."""

    id: str
    number: int
    values: Values
    """Of `SESSION_COLUMNS`."""
    turns: Sequence[Turn]
    """In order of writing."""
    arrivals: Sequence[int]
    """The turns' arrivals."""
    shown: Sequence[Shown]
    names: Sequence[NameMap]
    rewards: Sequence[Values]
    """Of `REWARD_COLUMNS`, in order of arrival."""
    owned: dict[str, list[Values]]
    """By the tables of `OWNED`."""


def read_session(connection: sqlite3.Connection, session_id: str) -> OldSession:
    """Read a session. Raises StoreError if it is damaged."""
    try:
        return _read(connection, session_id)
    except (KeyError, TypeError, ValueError, sqlite3.DatabaseError) as error:
        raise StoreError(
            f"session {session_id!r} is damaged: {error}; restore the store from a backup, or delete the "
            "session with the version of crosswind that wrote it"
        ) from error


def _read(connection: sqlite3.Connection, session_id: str) -> OldSession:
    run = connection.execute
    values: Values = run(
        f"SELECT {', '.join(SESSION_COLUMNS.values())} FROM session WHERE id = ?", (session_id,)
    ).fetchone()
    arrivals = run(
        "SELECT coalesce(arrival, created_us) FROM turn WHERE session_id = ? ORDER BY rowid", (session_id,)
    ).fetchall()
    rewards = run(
        f"SELECT {', '.join(REWARD_COLUMNS)} FROM reward WHERE session_id = ? ORDER BY arrival, id",
        (session_id,),
    ).fetchall()
    return OldSession(
        session_id,
        values[0],
        values,
        read_turns(connection, session_id),
        [arrival for (arrival,) in arrivals],
        read_ledger(connection, session_id),
        read_names(connection, session_id),
        _with_arrivals(rewards),
        {table: _read_owned(connection, table, session_id) for table in OWNED},
    )


def _read_owned(connection: sqlite3.Connection, table: str, session_id: str) -> list[Values]:
    columns, order = ", ".join(OWNED[table]), ORDER.get(table, "rowid")
    query = f"SELECT {columns} FROM {table} WHERE session_id = ? ORDER BY {order}"
    return connection.execute(query, (session_id,)).fetchall()


def _with_arrivals(rewards: list[Values]) -> list[Values]:
    """The rewards with an arrival each, in the order in which they are."""
    found: list[Values] = []
    for row, created_us, arrival, *rest in reversed(rewards):
        at = created_us if arrival is None else arrival
        if found:
            later_row, later_at = found[-1][0], found[-1][2]
            at = min(at, later_at if row < later_row else later_at - 1)
        found.append((row, created_us, at, *rest))
    return found[::-1]


def ledger_by_turn(session: OldSession) -> Iterator[tuple[Turn, int, list[Shown], list[NameMap]]]:
    """Each turn with its arrival, and with the rows of the ledger that are stored with it, in their order:
    those of its index, and at the last turn the rest.
    """
    shown, names = list(session.shown)[::-1], list(session.names)[::-1]
    for at, (turn, arrival) in enumerate(zip(session.turns, session.arrivals, strict=True), 1):
        index = None if at == len(session.turns) else turn.index
        yield turn, arrival, _take(shown, index), _take(names, index)


def _take(waiting: list[Any], index: int | None) -> list[Any]:
    """Take rows from the end as long as they belong to turns up to this index; None takes all."""
    taken = []
    while waiting and (index is None or waiting[-1].turn_index <= index):
        taken.append(waiting.pop())
    return taken
