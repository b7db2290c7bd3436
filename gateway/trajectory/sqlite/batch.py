"""One write to SQLite: rows are encoded before the transaction and inserted table by table within it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any

from crosswind.gateway.trajectory.ledger_rows import (
    DeliveredId,
    DestroyedAnswer,
    LedgerTextsErased,
    NameMap,
    Shown,
)
from crosswind.gateway.trajectory.record import (
    Completion,
    Delivery,
    Event,
    GeneratedText,
    ProviderObject,
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
    DESTROYED_ANSWER,
    EVENT,
    GENERATED_TEXT,
    NAME_MAP,
    PROVIDER_OBJECT,
    REWARD,
    SESSION,
    SETTING,
    SHOWN,
    TURN,
    storable,
    to_json,
)
from crosswind.gateway.trajectory.sqlite.deletion import delete_session, was_deleted
from crosswind.gateway.trajectory.sqlite.segments import KnownFrames, NewContent
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
"""Set for a turn with a single choice without tokens, which has no completion row."""
Values = Sequence[Any]

# In the order of insertion: what others refer to comes first, and changes come after what they change.
_SESSION = SESSION.insert("rewarded_us", stamped=True)
_TURN = TURN.insert(*VIEW_COLUMNS, BARE_CHOICE, stamped=True)
_COMPLETION = COMPLETION.insert("session_id", "turn_index", "attempt")
_EVENT = EVENT.insert()
_SHOWN = SHOWN.insert()
_NAME = NAME_MAP.insert()
_GENERATED = GENERATED_TEXT.insert()
_DELIVERED_ID = DELIVERED_ID.insert()
_PROVIDER_OBJECT = PROVIDER_OBJECT.insert()
_DESTROYED = DESTROYED_ANSWER.insert()
_REWARD = REWARD.insert(conflict="ON CONFLICT DO UPDATE SET arrival = excluded.arrival", stamped=True)
_REWARDED = """
UPDATE session SET
  reward_state = 'given',
  rewarded_arrival = CASE WHEN rewarded_us IS NULL THEN arrival() ELSE rewarded_arrival END,
  rewarded_us = coalesce(rewarded_us, (
    SELECT created_us FROM reward WHERE session_id = session.id ORDER BY arrival, reward.id LIMIT 1)),
  (reward, reward_components_json, reward_source) = (
    SELECT reward.reward, components_json, source FROM reward
    WHERE session_id = session.id ORDER BY arrival DESC, reward.id DESC LIMIT 1)
WHERE id = ?"""
_MARKED = """
UPDATE session SET
  noise_stopped = coalesce(?, noise_stopped),
  quarantine = coalesce(?, quarantine),
  confidence = coalesce(?, confidence),
  reward_state = CASE reward_state WHEN 'given' THEN reward_state ELSE coalesce(?, reward_state) END,
  labels_json = coalesce(json_patch(coalesce(labels_json, '{}'), ?), labels_json)
WHERE id = ?"""
_CLOSED = """
UPDATE session SET
  status = 'closed',
  closed_arrival = CASE WHEN closed_us IS NULL THEN arrival() ELSE closed_arrival END,
  closed_us = coalesce(closed_us, ?)
WHERE id = ?"""
_DELIVERY = DELIVERY.insert(
    conflict="ON CONFLICT DO UPDATE SET delivered = excluded.delivered, "
    "durable = coalesce(excluded.durable, durable), total_us = coalesce(excluded.total_us, total_us)"
)
_SETTING = SETTING.insert(
    conflict="ON CONFLICT DO UPDATE SET value_json = excluded.value_json, updated_us = excluded.updated_us, "
    "arrival = excluded.arrival",
    stamped=True,
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
    _DESTROYED,
    _REWARD,
    _REWARDED,
    _MARKED,
    _CLOSED,
    _DELIVERY,
    _SETTING,
    _PROVIDER_OBJECT,
    _ERASED,
)


def bare_choice(finish_reason: str | None) -> tuple[Completion, ...]:
    """The completions of a turn with a single choice without tokens; such a choice has no row of its own."""
    return (Completion(0, finish_reason=finish_reason),)


class Batch:
    """The encoded rows of one transaction. Raises RowRefused for a row that can't be encoded."""

    def __init__(self, rows: Sequence[Row], known: KnownFrames, *, trust_stored: bool = True) -> None:
        self._content = NewContent(known, trust_stored=trust_stored)
        self._opened_ids: list[str] = []
        self._deleted_ids: list[str] = []
        self._values: dict[str, list[Values]] = {statement: [] for statement in _ORDER}
        for row in rows:
            try:
                self._add(row)
            except (KeyError, TypeError, ValueError, OverflowError) as error:
                # The error names no content: rows hold other people's text.
                of = getattr(row, "session_id", "")
                raise RowRefused(
                    f"a {type(row).__name__} row of session {of!r} can't be stored: {error}"
                ) from error
        self.session_ids = {
            row.session_id for row in rows if not isinstance(row, Session | Setting | ProviderObject)
        }

    def insert(self, connection: sqlite3.Connection) -> None:
        """Insert everything, within the caller's transaction.

        Raises RowRefused for a session that was deleted of late: a request in flight must not bring it back.
        """
        for session_id in self._opened_ids:
            if was_deleted(connection, session_id):
                raise RowRefused(f"session {session_id!r} was deleted")
        for statement in _ORDER:
            if values := self._values[statement]:
                _execute(connection, statement, values)
            if statement is _SESSION:
                self._content.insert(connection)
        for session_id in self._deleted_ids:
            delete_session(connection, session_id)

    def mark_stored(self) -> None:
        """Remember what is stored. Call this only once the transaction is on disk."""
        self._content.mark_stored()

    def _add(self, row: Row) -> None:
        if isinstance(row, Turn):
            self._add_turn(row)
        elif isinstance(row, SessionDeleted):
            self._deleted_ids.append(row.session_id)
        else:
            if isinstance(row, Session):
                self._opened_ids.append(row.id)
            for statement, encode in _ENCODERS[type(row)]:
                self._values[statement].append(encode(row))

    def _add_turn(self, row: Turn) -> None:
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


def _encode_session(row: Session) -> Values:
    rewarded_us = row.closed_us or row.created_us if row.reward is not None else None
    return [*SESSION.encode(row), rewarded_us]


def _encode_mark(row: SessionMarked) -> Values:
    labels = None if row.labels is None else to_json(row.labels)
    return (
        row.noise_stopped,
        row.quarantine,
        row.confidence,
        row.reward_state,
        labels,
        row.session_id,
    )


# The statements that a row runs, each with what encodes its values. Turns and deletions need the whole batch.
_ENCODERS: dict[type, tuple[tuple[str, Callable[[Any], Values]], ...]] = {
    Session: ((_SESSION, _encode_session),),
    Event: ((_EVENT, EVENT.encode),),
    Shown: ((_SHOWN, SHOWN.encode),),
    NameMap: ((_NAME, NAME_MAP.encode),),
    GeneratedText: ((_GENERATED, GENERATED_TEXT.encode),),
    DeliveredId: ((_DELIVERED_ID, DELIVERED_ID.encode),),
    DestroyedAnswer: ((_DESTROYED, DESTROYED_ANSWER.encode),),
    Reward: ((_REWARD, REWARD.encode), (_REWARDED, lambda row: (row.session_id,))),
    SessionClosed: ((_CLOSED, lambda row: (row.closed_us, row.session_id)),),
    SessionMarked: ((_MARKED, _encode_mark),),
    Delivery: ((_DELIVERY, DELIVERY.encode),),
    Setting: ((_SETTING, SETTING.encode),),
    ProviderObject: ((_PROVIDER_OBJECT, PROVIDER_OBJECT.encode),),
    LedgerTextsErased: ((_ERASED, lambda row: (row.session_id,)),),
}


def _execute(connection: sqlite3.Connection, statement: str, values: list[Values]) -> None:
    try:
        connection.executemany(statement, values)
    except UnicodeEncodeError:
        # Rows before the one that failed are in already; rows of a known identity are not changed.
        connection.executemany(statement, [[storable(value) for value in row] for row in values])
    except OverflowError as error:
        raise RowRefused(f"a number is too large for the store: {error}") from error


def explain_missing_sessions(connection: sqlite3.Connection, batch: Batch) -> str | None:
    """Say which sessions of a refused batch are not in the store; None if all of them are."""
    known = {
        session_id
        for session_id in batch.session_ids
        if connection.execute("SELECT 1 FROM session WHERE id = ?", (session_id,)).fetchone()
    }
    if missing := sorted(batch.session_ids - known):
        return f"no session {', '.join(map(repr, missing[:5]))}; its Session row must be written first"
    return None
