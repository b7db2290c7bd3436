"""Writes stores of schema version 10 and older, as crosswind did before a turn became one row."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from crosswind.gateway.trajectory.content import Chain, View, content_key, pack
from crosswind.gateway.trajectory.json_text import storable, to_json, to_json_with_infinities
from crosswind.gateway.trajectory.ledger_rows import NameMap, Shown
from crosswind.gateway.trajectory.likelihood import pack_top
from crosswind.gateway.trajectory.record import Completion, Delivery, Row, Session, Turn
from crosswind.gateway.trajectory.sqlite import columns
from crosswind.gateway.trajectory.sqlite_blocks.schema import migrate

_TABLES = {
    table.kind: table
    for table in (
        columns.EVENT,
        columns.GENERATED_TEXT,
        columns.DELIVERED_ID,
        columns.DESTROYED_ANSWER,
        columns.REWARD,
        columns.SETTING,
        columns.PROVIDER_OBJECT,
        columns.TRAIN_STEP,
    )
}
_STAMPED = {"reward", "setting", "train_step"}
_LATER = {"event": "version", "train_step": "rewards_json"}
"""Columns that there were not then."""


class _Same(dict[str, Any]):
    """Sessions are named by their ids."""

    def __missing__(self, key: str) -> str:
        return key


def write_old_store(path: Path, rows: Iterable[Any], *, arrival: int | None = 1_700_000_000_000_000) -> None:
    """Add rows to a store of version 10, created if it is missing; each row arrives after the one before."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        migrate(connection, str(path))
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("BEGIN")
        writer = _Writer(connection, arrival)
        for row in rows:
            writer.add(row)
        connection.execute("COMMIT")


class _Writer:
    def __init__(self, connection: sqlite3.Connection, arrival: int | None) -> None:
        self._connection = connection
        self._arrival = arrival

    def add(self, row: Row) -> None:
        if self._arrival is not None:
            self._arrival += 1
        if isinstance(row, Session):
            rewarded = row.created_us if row.reward is not None else None
            values = columns.SESSION.encode(row, {})
            names = (*columns.SESSION.names, "arrival", "rewarded_us", "rewarded_arrival")
            self._insert("session", names, [*values, self._arrival, rewarded, rewarded and self._arrival])
        elif isinstance(row, Turn):
            self._add_turn(row)
        elif isinstance(row, Shown):
            fields = {name: getattr(row, name) for name in row.__struct_fields__ if name != "decisions"}
            self._insert_fields("shown", fields | {"decisions_json": to_json(row.decisions)})
        elif isinstance(row, NameMap):
            self._insert_fields("name_map", {name: getattr(row, name) for name in row.__struct_fields__})
        elif isinstance(row, Delivery):
            self._insert_fields("delivery", {name: getattr(row, name) for name in row.__struct_fields__})
        else:
            table = _TABLES[type(row)]
            names = ["session_id" if name == "session" else name for name in table.names]
            values = table.encode(row, _Same())
            if table.name in _LATER:
                at = names.index(_LATER[table.name])
                del names[at], values[at]
            if table.name in _STAMPED:
                names, values = [*names, "arrival"], [*values, self._arrival]
            self._insert(table.name, names, values)

    def _insert_fields(self, table: str, fields: Mapping[str, Any]) -> None:
        self._insert(table, list(fields), list(fields.values()))

    def _insert(self, table: str, names: Sequence[str], values: Sequence[Any]) -> None:
        marks = ", ".join("?" * len(names))
        self._connection.execute(
            f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks}) ON CONFLICT DO NOTHING",
            [storable(value) for value in values],
        )

    def _add_turn(self, row: Turn) -> None:
        (number,) = self._connection.execute(
            "SELECT number FROM session WHERE id = ?", (row.session_id,)
        ).fetchone()
        same = (
            "session_id attempt created_us parent branch fitness durable delivered protocol stream spared "
            "model response_id policy_first policy_last finish_reason queue_us first_token_us total_us "
            "upstream_status idempotency"
        )
        fields = {name: getattr(row, name) for name in same.split(" ")}
        views = {"received": row.received, "sent": row.sent, "produced": row.produced}
        for name, view in (views | {"delivered": row.delivered_view}).items():
            fields[f"{name}_frame"], fields[f"{name}_chain"] = self._view(number, view)
        bare = row.completions == (Completion(0, finish_reason=row.finish_reason),)
        self._insert_fields(
            "turn",
            fields
            | {
                "turn_index": row.index,
                "prompt_chain": self._chain(number, row.prompt_ids),
                "usage_json": to_json(row.usage),
                "usage_injected_json": to_json(row.usage_injected),
                "error_json": None if row.error is None else to_json(msgspec.to_builtins(row.error)),
                "inner_json": to_json_with_infinities(msgspec.to_builtins(row.inner)) if row.inner else "[]",
                "request": None if row.request is None else bytes.fromhex(row.request),
                "bare_choice": 1 if bare else None,
                "arrival": self._arrival,
            },
        )
        for one in () if bare else row.completions:
            spans = [(span.version, span.start, span.end) for span in one.versions]
            self._insert_fields(
                "completion",
                {
                    "session_id": row.session_id,
                    "turn_index": row.index,
                    "attempt": row.attempt,
                    "choice": one.index,
                    "token_ids": pack("i", one.token_ids),
                    "logprobs": pack("d", one.logprobs),
                    "finish_reason": one.finish_reason,
                    "versions_json": to_json(spans) if spans else None,
                    "top_logprobs": pack_top(one.top_logprobs),
                },
            )

    def _view(self, number: int, view: View | None) -> tuple[bytes | None, bytes | None]:
        if view is None:
            return None, None
        frame = view.frame
        if len(frame) == 1 and frame[0] is not None:
            return b"\0" + self._block(number, frame[0]), None
        hashes = [None if piece is None else self._block(number, piece) for piece in frame]
        key = content_key(b"".join(b"-" if block is None else b"+" + block for block in hashes))
        for ordinal, block in enumerate(hashes) if hashes else ((-1, None),):
            self._insert("frame", ("key", "ordinal", "block", "owner"), (key, ordinal, block, number))
        return key, self._chain(number, view.chain)

    def _chain(self, number: int, chain: Chain | None) -> bytes | None:
        if chain is None:
            return None
        for node in reversed(list(chain.nodes())):
            parent = node.parent.key if node.parent else None
            values = (node.key, parent, self._block(number, node.body), node.depth, number)
            self._insert("chain", ("key", "parent", "block", "depth", "owner"), values)
        return chain.key

    def _block(self, number: int, body: bytes) -> bytes:
        key = content_key(body)
        self._insert("block", ("hash", "body", "owner"), (key, body, number))
        return key
