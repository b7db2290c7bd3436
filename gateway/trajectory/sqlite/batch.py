"""One write to SQLite: rows of any kinds, encoded before the transaction, inserted table by table within."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any

from crosswind.gateway.trajectory.frames import KnownFrames
from crosswind.gateway.trajectory.generated_text import GeneratedText
from crosswind.gateway.trajectory.ledger_rows import DeliveredId, LedgerTextsErased, NameMap, Shown
from crosswind.gateway.trajectory.record import (
    Completion,
    Delivery,
    Event,
    Reward,
    Row,
    Session,
    SessionClosed,
    SessionDeleted,
    SessionMarked,
    Setting,
    Turn,
)
from crosswind.gateway.trajectory.sqlite.columns import (
    COMPLETION,
    DELIVERED_ID,
    DELIVERY,
    EVENT,
    GENERATED_TEXT,
    NAME_MAP,
    REWARD,
    SESSION,
    SETTING,
    SHOWN,
    TURN,
    storable,
    to_json,
)
from crosswind.gateway.trajectory.sqlite.deletion import delete_session
from crosswind.gateway.trajectory.sqlite.segments import NewContent
from crosswind.gateway.trajectory.store import RowRefused

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
BARE_CHOICE = "bare_choice"
"""The column that stands for a choice without tokens."""
Values = Sequence[Any]

# In the order of insertion: what others refer to comes first, and changes come after what they change.
_SESSION = SESSION.insert("rewarded_us")
_TURN = TURN.insert(*VIEW_COLUMNS, BARE_CHOICE)
_COMPLETION = COMPLETION.insert("session_id", "turn_index", "attempt")
_EVENT = EVENT.insert()
_SHOWN = SHOWN.insert()
_NAME = NAME_MAP.insert()
_GENERATED = GENERATED_TEXT.insert()
_DELIVERED_ID = DELIVERED_ID.insert()
_REWARD = REWARD.insert()
_REWARDED = """
UPDATE session SET
  reward_state = 'given',
  rewarded_us = coalesce(rewarded_us, (SELECT min(created_us) FROM reward WHERE session_id = session.id)),
  (reward, reward_components_json, reward_source) = (
    SELECT reward.reward, components_json, source FROM reward
    WHERE session_id = session.id ORDER BY created_us DESC, reward.id DESC LIMIT 1)
WHERE id = ?"""
_MARKED = """
UPDATE session SET
  noise_stopped = coalesce(?, noise_stopped),
  quarantine = coalesce(?, quarantine),
  reward_state = CASE reward_state WHEN 'given' THEN reward_state ELSE coalesce(?, reward_state) END,
  labels_json = coalesce(json_patch(coalesce(labels_json, '{}'), ?), labels_json)
WHERE id = ?"""
_CLOSED = "UPDATE session SET status = 'closed', closed_us = coalesce(closed_us, ?) WHERE id = ?"
_DELIVERY = DELIVERY.insert(
    conflict="ON CONFLICT DO UPDATE SET delivered = excluded.delivered, "
    "durable = coalesce(excluded.durable, durable), total_us = coalesce(excluded.total_us, total_us)"
)
_SETTING = SETTING.insert(
    conflict="ON CONFLICT DO UPDATE SET value_json = excluded.value_json, updated_us = excluded.updated_us"
)
_ERASED = "UPDATE shown SET text = NULL WHERE session_id = ? AND text IS NOT NULL"
_ORDER = (
    _SESSION,
    _TURN,
    _COMPLETION,
    _EVENT,
    _SHOWN,
    _NAME,
    _GENERATED,
    _DELIVERED_ID,
    _REWARD,
    _REWARDED,
    _MARKED,
    _CLOSED,
    _DELIVERY,
    _SETTING,
    _ERASED,
)


def bare_choice(finish_reason: str | None) -> tuple[Completion, ...]:
    """The completions of a turn whose one choice has no tokens: what the turn says of it is all there is."""
    return (Completion(0, finish_reason=finish_reason),)


class Batch:
    """The rows of one transaction, encoded. RowRefused where one can't be."""

    def __init__(self, rows: Sequence[Row], known: KnownFrames, *, trust_stored: bool = True) -> None:
        self._content = NewContent(known, trust_stored=trust_stored)
        self._deleted_ids: list[str] = []
        self._values: dict[str, list[Values]] = {statement: [] for statement in _ORDER}
        for row in rows:
            try:
                _ENCODE[type(row)](self, row)
            except (KeyError, TypeError, ValueError, OverflowError) as error:
                # The error names no content: rows hold other people's text.
                of = getattr(row, "session_id", "")
                raise RowRefused(
                    f"a {type(row).__name__} row of session {of!r} can't be stored: {error}"
                ) from error
        self.session_ids = {row.session_id for row in rows if not isinstance(row, Session | Setting)}

    def insert(self, connection: sqlite3.Connection) -> None:
        """Insert everything, within the caller's transaction."""
        for statement in _ORDER:
            if values := self._values[statement]:
                _execute(connection, statement, values)
            if statement is _SESSION:
                self._content.insert(connection)
        for session_id in self._deleted_ids:
            delete_session(connection, session_id)

    def mark_stored(self) -> None:
        """To be called once the transaction is on disk, and never otherwise."""
        self._content.mark_stored()

    def _session(self, row: Session) -> None:
        rewarded_us = row.closed_us or row.created_us if row.reward is not None else None
        self._values[_SESSION].append([*SESSION.encode(row), rewarded_us])

    def _turn(self, row: Turn) -> None:
        content = self._content
        session_id, received = row.session_id, content.view(row.session_id, row.received)
        values = TURN.encode(row)
        values += received
        values += received if row.sent is row.received else content.view(session_id, row.sent)
        values += content.view(session_id, row.produced)
        values += content.view(session_id, row.delivered_view)
        values.append(content.chain(session_id, row.prompt_ids))
        bare = row.completions == bare_choice(row.finish_reason)
        values.append(1 if bare else None)
        self._values[_TURN].append(values)
        for completion in () if bare else row.completions:
            self._values[_COMPLETION].append(
                [*COMPLETION.encode(completion), session_id, row.index, row.attempt]
            )

    def _event(self, row: Event) -> None:
        self._values[_EVENT].append(EVENT.encode(row))

    def _shown(self, row: Shown) -> None:
        self._values[_SHOWN].append(SHOWN.encode(row))

    def _name(self, row: NameMap) -> None:
        self._values[_NAME].append(NAME_MAP.encode(row))

    def _generated(self, row: GeneratedText) -> None:
        self._values[_GENERATED].append(GENERATED_TEXT.encode(row))

    def _delivered_id(self, row: DeliveredId) -> None:
        self._values[_DELIVERED_ID].append(DELIVERED_ID.encode(row))

    def _reward(self, row: Reward) -> None:
        self._values[_REWARD].append(REWARD.encode(row))
        self._values[_REWARDED].append((row.session_id,))

    def _closed(self, row: SessionClosed) -> None:
        self._values[_CLOSED].append((row.closed_us, row.session_id))

    def _marked(self, row: SessionMarked) -> None:
        self._values[_MARKED].append(
            (
                row.noise_stopped,
                row.quarantine,
                row.reward_state,
                None if row.labels is None else to_json(row.labels),
                row.session_id,
            )
        )

    def _delivery(self, row: Delivery) -> None:
        self._values[_DELIVERY].append(DELIVERY.encode(row))

    def _setting(self, row: Setting) -> None:
        self._values[_SETTING].append(SETTING.encode(row))

    def _erased(self, row: LedgerTextsErased) -> None:
        self._values[_ERASED].append((row.session_id,))

    def _deleted(self, row: SessionDeleted) -> None:
        self._deleted_ids.append(row.session_id)


_ENCODE: dict[type, Callable[[Batch, Any], None]] = {
    Session: Batch._session,
    Turn: Batch._turn,
    Event: Batch._event,
    Shown: Batch._shown,
    NameMap: Batch._name,
    GeneratedText: Batch._generated,
    DeliveredId: Batch._delivered_id,
    Reward: Batch._reward,
    SessionClosed: Batch._closed,
    SessionMarked: Batch._marked,
    Delivery: Batch._delivery,
    Setting: Batch._setting,
    LedgerTextsErased: Batch._erased,
    SessionDeleted: Batch._deleted,
}


def _execute(connection: sqlite3.Connection, statement: str, values: list[Values]) -> None:
    try:
        connection.executemany(statement, values)
    except UnicodeEncodeError:
        # Rows before the one that failed are in already; those of a known identity are left as they stand.
        connection.executemany(statement, [[storable(value) for value in row] for row in values])
    except OverflowError as error:
        raise RowRefused(f"a number is too large for the store: {error}") from error


def missing_sessions(connection: sqlite3.Connection, batch: Batch) -> str | None:
    """Why a batch was refused, where that is because a session it belongs to isn't in the store."""
    known = {
        session_id
        for session_id in batch.session_ids
        if connection.execute("SELECT 1 FROM session WHERE id = ?", (session_id,)).fetchone()
    }
    if missing := sorted(batch.session_ids - known):
        return f"no session {', '.join(map(repr, missing[:5]))}; its Session row must be written first"
    return None
