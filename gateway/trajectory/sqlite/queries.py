"""Queries that read rows of the record from an SQLite store, in the caller's snapshot."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import structlog

from crosswind.gateway.trajectory.json_text import storable, text
from crosswind.gateway.trajectory.ledger_rows import DestroyedAnswer, NameMap, Shown
from crosswind.gateway.trajectory.record import (
    Event,
    GeneratedText,
    Reward,
    Session,
    SessionState,
    SessionStatus,
    Setting,
    Turn,
    TurnHead,
)
from crosswind.gateway.trajectory.sqlite.arrival import store_time
from crosswind.gateway.trajectory.sqlite.columns import (
    DESTROYED_ANSWER,
    EVENT,
    GENERATED_TEXT,
    REWARD,
    SESSION,
    SETTING,
    Table,
)
from crosswind.gateway.trajectory.sqlite.turn_rows import in_order, read_turns
from crosswind.gateway.trajectory.store import StoreError
from crosswind.gateway.trajectory.stored_turn import decode_shown
from crosswind.gateway.trajectory.turn_body import DamagedBody, LedgerBody, decode_body

T = TypeVar("T")

_log = structlog.get_logger("crosswind.store")

_DESTROYED = f"""
SELECT {DESTROYED_ANSWER.select()}, EXISTS (
  SELECT 1 FROM turn WHERE turn.session = destroyed_answer.session
  AND (turn.turn_index, turn.attempt) > (destroyed_answer.turn_index, destroyed_answer.attempt)
), coalesce((
  SELECT arrival FROM turn WHERE turn.session = destroyed_answer.session
  AND (turn.turn_index, turn.attempt) = (destroyed_answer.turn_index, destroyed_answer.attempt)
), at_us) AS came FROM destroyed_answer WHERE alike = ? AND came > ? ORDER BY came DESC LIMIT 200"""
_STATE = """
SELECT
  coalesce((SELECT id FROM turn WHERE turn.session = session.number ORDER BY id DESC LIMIT 1), 0),
  status, noise_stopped, quarantine, labels_json
FROM session WHERE session.id = ?"""
EVENT_ORDER = """ORDER BY turn_index, CASE WHEN turn_index < 0 THEN created_us ELSE attempt END, ordinal"""
"""Of events: those outside turns by their time."""
_OF = "(SELECT number FROM session WHERE session.id = ?)"
_HEADS = f"""
SELECT id, turn_index, attempt, parent, branch, received_key, response_id, request, idempotency,
  coalesce(error_source = 'injected', 0),
  (SELECT count(*) FROM event WHERE event.session = turn.session AND event.turn_index = turn.turn_index
    AND event.attempt = turn.attempt AND event.after IS NOT NULL
    AND event.site IN ('transport', 'model_response'))
FROM turn WHERE session = {_OF} AND id > ? ORDER BY id"""


def select(connection: sqlite3.Connection, table: Table[T], rest: str, *values: object) -> list[T]:
    """Read the rows of a table. `rest` follows the table's name in the query."""
    query = f"SELECT {table.select()} FROM {table.name} {rest}"
    return [table.decode(row) for row in connection.execute(query, values)]


def session(connection: sqlite3.Connection, session_id: str) -> Session | None:
    return next(iter(select(connection, SESSION, "WHERE id = ?", session_id)), None)


def sessions(
    connection: sqlite3.Connection,
    *,
    group_id: str | None = None,
    label: Mapping[str, str] | None = None,
    tenant: str | None = None,
    limit: int = 100,
    offset: int = 0,
) -> list[Session]:
    where, values = ["TRUE"], list[Any]()
    if group_id is not None:
        where.append("group_id = ?")
        values.append(group_id)
    if tenant is not None:
        where.append("tenant = ?")
        values.append(tenant)
    for key, value in (label or {}).items():
        where.append(
            "EXISTS (SELECT 1 FROM json_each(labels_json) AS label WHERE label.key = ? AND CASE label.type "
            "WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' ELSE CAST(label.value AS TEXT) END = ?)"
        )
        values += [key, value]
    rest = f"WHERE {' AND '.join(where)} ORDER BY number DESC LIMIT ? OFFSET ?"
    return select(connection, SESSION, rest, *values, limit, offset)


def session_of_response(connection: sqlite3.Connection, response_id: str) -> str | None:
    row = connection.execute(
        "SELECT session.id FROM turn JOIN session ON number = session WHERE kept AND response_id = ? "
        "ORDER BY turn.id DESC LIMIT 1",
        (storable(response_id),),
    ).fetchone()
    return row[0] if row else None


def owners_of_objects(connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, str]:
    query = """
        SELECT tenant FROM provider_object WHERE id = ?1
        UNION ALL SELECT coalesce(session.tenant, '') FROM turn JOIN session ON number = session
        WHERE kept AND turn.response_id = ?1 LIMIT 1"""
    found = {one: connection.execute(query, (storable(one),)).fetchone() for one in ids}
    return {one: row[0] for one, row in found.items() if row is not None}


def sessions_of_delivered_id(connection: sqlite3.Connection, name: str) -> list[str]:
    query = "SELECT session.id FROM delivered_id JOIN session ON number = session WHERE name = ? LIMIT 2"
    return [session_id for (session_id,) in connection.execute(query, (storable(name),))]


def destroyed_answers(
    connection: sqlite3.Connection, alike: str, window_us: int
) -> list[tuple[DestroyedAnswer, int]]:
    """With each one's age by the store's own time: it is right whatever happens to the wall clock."""
    now = store_time(connection)
    rows = connection.execute(_DESTROYED, (alike, now - window_us)).fetchall()
    return [(DESTROYED_ANSWER.decode(row[:-2], taken=bool(row[-2])), now - row[-1]) for row in rows]


def turns(connection: sqlite3.Connection, session_id: str) -> list[Turn]:
    """The session's turns by index and attempt, including updates from after they were written."""
    number = _number(connection, session_id)
    return [] if number is None else in_order(read_turns(connection, {number: session_id})[number])


def _number(connection: sqlite3.Connection, session_id: str) -> int | None:
    row = connection.execute("SELECT number FROM session WHERE id = ?", (session_id,)).fetchone()
    return None if row is None else row[0]


def generated_texts(connection: sqlite3.Connection, keys: Sequence[str]) -> dict[str, GeneratedText]:
    rest = "WHERE key = ? ORDER BY generated_text.rowid LIMIT 1"
    return {found.key: found for key in keys for found in select(connection, GENERATED_TEXT, rest, key)}


def turns_of_responses(
    connection: sqlite3.Connection, session_id: str, response_ids: Sequence[str]
) -> dict[str, Turn]:
    """The session's newest turn with each of these responses."""
    number = _number(connection, session_id)
    if number is None:
        return {}
    only = f"AND turn.response_id IN ({', '.join('?' * len(response_ids))})"
    found = read_turns(connection, {number: session_id}, only, *map(storable, response_ids))
    return {turn.response_id: turn for turn in found[number] if turn.response_id is not None}


def events(connection: sqlite3.Connection, session_id: str) -> list[Event]:
    return select(connection, EVENT, f"WHERE session = {_OF} {EVENT_ORDER}", session_id)


def ledger(connection: sqlite3.Connection, session_id: str) -> list[Shown]:
    return ledger_since(connection, session_id, 0)


def ledger_since(connection: sqlite3.Connection, session_id: str, after_row: int) -> list[Shown]:
    return join_ledgers(session_id, _ledgers(connection, session_id, after_row))


def join_ledgers(session_id: str, ledgers: Iterable[LedgerBody]) -> list[Shown]:
    """The ledger that came with several turns. Of several rows of one part the first counts."""
    found: dict[tuple[str, str, str], Shown] = {}
    for body in ledgers:
        for stored in body.shown:
            shown = decode_shown(session_id, stored)
            found.setdefault((shown.branch, shown.anchor, shown.site), shown)
    return list(found.values())


def _ledgers(connection: sqlite3.Connection, session_id: str, after_row: int = 0) -> Iterator[LedgerBody]:
    query = f"SELECT id, ledger FROM turn WHERE session = {_OF} AND id > ? AND ledger IS NOT NULL ORDER BY id"
    for row, ledger in connection.execute(query, (session_id, after_row)):
        try:
            yield decode_body(ledger, LedgerBody)
        except DamagedBody as error:
            raise StoreError(
                f"the ledger of session {session_id!r} is damaged in turn row {row}: {error}; restore the "
                "store from a backup"
            ) from error


def turns_since(connection: sqlite3.Connection, session_id: str, after_row: int) -> list[TurnHead]:
    rows = connection.execute(_HEADS, (session_id, after_row))
    return [
        TurnHead(
            row,
            index,
            attempt,
            parent,
            text(branch),
            received,
            text(response),
            body,
            text(key),
            bool(lost),
            met,
        )
        for row, index, attempt, parent, branch, received, response, body, key, lost, met in rows
    ]


def session_state(connection: sqlite3.Connection, session_id: str) -> SessionState | None:
    row = connection.execute(_STATE, (session_id,)).fetchone()
    if row is None:
        return None
    newest, status, noise_stopped, quarantine, labels = row
    return SessionState(
        newest, SessionStatus(status), bool(noise_stopped), text(quarantine), text(labels) or ""
    )


def names(connection: sqlite3.Connection, session_id: str) -> list[NameMap]:
    rows = [row for body in _ledgers(connection, session_id) for row in body.names]
    found = {(declared, shown): index for declared, shown, index in reversed(rows)}
    return [NameMap(session_id, text(one), text(other), at) for (one, other), at in reversed(found.items())]


def rewards(connection: sqlite3.Connection, session_id: str) -> list[Reward]:
    return select(connection, REWARD, f"WHERE session = {_OF} ORDER BY arrival, id", session_id)


def setting(connection: sqlite3.Connection, kind: str, name: str) -> Setting | None:
    query = f"SELECT {SETTING.select()} FROM setting WHERE kind = ? AND name = ?"
    row = connection.execute(query, (kind, name)).fetchone()
    return None if row is None else _decode_setting(row)


def settings(connection: sqlite3.Connection, kind: str) -> list[Setting]:
    return _select_settings(connection, "WHERE kind = ? ORDER BY name", kind)


def _select_settings(connection: sqlite3.Connection, rest: str, *values: object) -> list[Setting]:
    """Those that can be read; the log names the others."""
    found = []
    for row in connection.execute(f"SELECT {SETTING.select()} FROM setting {rest}", values):
        try:
            found.append(_decode_setting(row))
        except StoreError as error:
            _log.error("a stored setting can't be read: it is skipped", error=str(error))
    return found


def _decode_setting(row: Sequence[Any]) -> Setting:
    try:
        found = SETTING.decode(row)
    except ValueError as error:
        raise StoreError(f"the setting {row[0]} {row[1]!r} can't be read: {error}; delete its row") from error
    if not isinstance(found.value, dict):
        raise StoreError(f"the setting {row[0]} {row[1]!r} holds no object; delete its row")
    return found


def settings_as_they_came(connection: sqlite3.Connection, kinds: Sequence[str]) -> list[Setting]:
    rest = f"WHERE kind IN ({', '.join('?' * len(kinds))}) ORDER BY coalesce(arrival, updated_us), name"
    return _select_settings(connection, rest, *kinds)
