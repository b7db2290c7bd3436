"""Reads the turns and the ledger of a session in a store of schema version 9 or 10."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from msgspec import structs

from crosswind.gateway.trajectory.ledger_rows import NameMap, Shown
from crosswind.gateway.trajectory.record import Completion, Delivered, Durable, Turn
from crosswind.gateway.trajectory.sqlite_blocks.columns import COMPLETION, NAME_MAP, SHOWN, TURN, Table
from crosswind.gateway.trajectory.sqlite_blocks.stored_content import StoredContent

T = TypeVar("T")

VIEW_COLUMNS = (
    "received_frame",
    "received_chain",
    "sent_frame",
    "sent_chain",
    "produced_frame",
    "produced_chain",
    "delivered_frame",
    "delivered_chain",
    "prompt_chain",
)
_BARE = "bare_choice"
"""Set for a turn with a single choice without tokens, which has no completion row."""
_DELIVERED = ("delivery.delivered", "delivery.durable", "delivery.total_us")
_TURNS = (
    f"SELECT {TURN.select(*VIEW_COLUMNS, _BARE, *_DELIVERED)} FROM turn "
    "LEFT JOIN delivery USING (session_id, turn_index, attempt) WHERE turn.session_id = ? ORDER BY turn.rowid"
)


def read_ledger(connection: sqlite3.Connection, session_id: str) -> list[Shown]:
    return _select(connection, SHOWN, "WHERE session_id = ? ORDER BY id", session_id)


def read_names(connection: sqlite3.Connection, session_id: str) -> list[NameMap]:
    return _select(connection, NAME_MAP, "WHERE session_id = ? ORDER BY id", session_id)


def read_turns(connection: sqlite3.Connection, session_id: str) -> list[Turn]:
    """The session's turns in order of writing, including updates from after they were written.

    Raises KeyError or ValueError where their content is damaged.
    """
    rows = connection.execute(_TURNS, (session_id,)).fetchall()
    completions = _read_completions(connection, session_id)
    own, views = len(TURN.names), len(TURN.names) + len(VIEW_COLUMNS)
    keys = [row[own:views] for row in rows]
    content = StoredContent(
        connection,
        frames=(key for row in keys for key in row[0:8:2]),
        tips=(key for row in keys for key in (*row[1:8:2], row[8])),
    )
    return [
        _read_turn(row[:own], key, row[views:], content, completions)
        for row, key in zip(rows, keys, strict=True)
    ]


def _read_turn(
    values: Sequence[Any],
    key: Sequence[bytes | None],
    rest: Sequence[Any],
    content: StoredContent,
    completions: Mapping[tuple[int, int], Sequence[Completion]],
) -> Turn:
    bare, delivered, durable, total_us = rest
    turn = TURN.decode(
        values,
        received=content.view(*key[0:2]),
        sent=content.view(*key[2:4]),
        produced=content.view(*key[4:6]),
        delivered_view=content.view(*key[6:8]),
        prompt_ids=content.chain(key[8]),
    )
    choices = tuple(completions.get((turn.index, turn.attempt), ()))
    turn = structs.replace(
        turn,
        kept=turn.protocol in ("responses", "chat"),
        completions=(Completion(0, finish_reason=turn.finish_reason),) if bare else choices,
    )
    if delivered is None:
        return turn
    return structs.replace(
        turn,
        delivered=Delivered(delivered),
        durable=turn.durable if durable is None else Durable(durable),
        total_us=turn.total_us if total_us is None else total_us,
    )


def _read_completions(
    connection: sqlite3.Connection, session_id: str
) -> defaultdict[tuple[int, int], list[Completion]]:
    """The choices by turn index and attempt."""
    found: defaultdict[tuple[int, int], list[Completion]] = defaultdict(list)
    query = (
        f"SELECT turn_index, attempt, {COMPLETION.select()} FROM completion WHERE session_id = ? "
        "ORDER BY turn_index, attempt, choice"
    )
    for index, attempt, *row in connection.execute(query, (session_id,)):
        found[index, attempt].append(COMPLETION.decode(row))
    return found


def _select(connection: sqlite3.Connection, table: Table[T], rest: str, *values: object) -> list[T]:
    """Read the rows of a table. `rest` follows the table's name in the query."""
    query = f"SELECT {table.select()} FROM {table.name} {rest}"
    return [table.decode(row) for row in connection.execute(query, values)]
