"""The table `turn`: what a turn's row holds, and how the turns of a session are read back."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from crosswind.gateway.trajectory.content import Chain, View
from crosswind.gateway.trajectory.fitness import Fitness, Source
from crosswind.gateway.trajectory.json_text import text
from crosswind.gateway.trajectory.record import Delivered, Durable, Turn, TurnFailure
from crosswind.gateway.trajectory.session_content import ContentReader, SessionContent
from crosswind.gateway.trajectory.store import StoreError
from crosswind.gateway.trajectory.stored_turn import decode_fields, encode_turn
from crosswind.gateway.trajectory.turn_body import DamagedBody, Place, TurnBody, decode_body

PROMPT_TOKENS, COMPLETION_TOKENS = ("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens")
"""The members of a usage that count tokens, by protocol."""
_MOST = 1 << 62

_SAME = {
    "turn_index": "index",
    **{
        name: name
        for name in (
            "attempt",
            "created_us",
            "parent",
            "branch",
            "fitness",
            "durable",
            "protocol",
            "stream",
            "model",
            "response_id",
            "policy_first",
            "policy_last",
            "finish_reason",
            "queue_us",
            "first_token_us",
            "total_us",
            "upstream_status",
            "idempotency",
        )
    },
}
"""The columns that hold a field as it is."""
_COMMON = (
    "turn_index",
    "attempt",
    "created_us",
    "parent",
    "branch",
    "fitness",
    "durable",
    "protocol",
    "stream",
    "model",
    "response_id",
    "finish_reason",
    "queue_us",
    "first_token_us",
    "total_us",
    "upstream_status",
    "session",
    "view_changed",
    "prompt_tokens",
    "completion_tokens",
    "request",
    "received_key",
    "sent_key",
    "ledger",
    "body",
    "arrival",
)
_RARE = (
    "delivered",
    "kept",
    "policy_first",
    "policy_last",
    "sampled_tokens",
    "injected_prompt_tokens",
    "injected_completion_tokens",
    "error_source",
    "error_type",
    "idempotency",
    "prompt_key",
)
"""The columns that are NULL for a plain turn. To bind a NULL takes five times as long as a number."""
COLUMNS = (*_COMMON, *_RARE)
_NO_RARE = (None,) * len(_RARE)


def _insertion(columns: Sequence[str]) -> str:
    """The statement that inserts turns with these columns."""
    return (
        f"INSERT INTO turn ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))}) "
        "ON CONFLICT DO NOTHING"
    )


_INSERT_PLAIN, _INSERT = _insertion(_COMMON), _insertion(COLUMNS)
_READ = ("delivered", "kept", "error_source", "error_type", "request")
_SELECT = (
    f"SELECT {', '.join(f'turn.{name}' for name in ('session', *_SAME, *_READ))}, turn.body, "
    "delivery.delivered, delivery.durable, delivery.total_us "
    "FROM turn LEFT JOIN delivery ON delivery.turn = turn.id"
)
_KEYS = (
    "SELECT id, turn_index, attempt, received_key, sent_key, prompt_key FROM turn "
    "WHERE session = ? AND id > ? ORDER BY id"
)


def load_known(connection: sqlite3.Connection, known: SessionContent) -> None:
    """Add the session's turns that came since the last look."""
    for row, index, attempt, *keys in connection.execute(_KEYS, (known.number, known.row)):
        known.learn((index, attempt), *keys)
        known.row = row


def is_stored(connection: sqlite3.Connection, number: int, turn: Turn) -> bool:
    query = "SELECT 1 FROM turn WHERE session = ? AND turn_index = ? AND attempt = ?"
    return connection.execute(query, (number, turn.index, turn.attempt)).fetchone() is not None


def encode_row(
    turn: Turn, content: SessionContent, ledger: bytearray | None, arrival: int
) -> tuple[Any, ...]:
    """The values of a turn's row with its ledger rows: those of the first columns, or of all.

    They are of the very types that sqlite3 binds without a look for an adapter, which takes longer than the
    rest: text, numbers and bytearrays.
    """
    received, sent, request = turn.received, turn.sent, turn.request
    received_key, sent_key, prompt_key = chain_keys(received, sent, turn.prompt_ids)
    row = (
        turn.index,
        turn.attempt,
        turn.created_us,
        turn.parent,
        turn.branch,
        str(turn.fitness),
        str(turn.durable),
        turn.protocol,
        1 if turn.stream else 0,
        turn.model,
        turn.response_id,
        turn.finish_reason,
        turn.queue_us,
        turn.first_token_us,
        turn.total_us,
        turn.upstream_status,
        content.number,
        0 if sent is received or sent == received else 1,
        *_count_tokens(turn.usage),
        None if request is None else bytearray.fromhex(request),
        received_key and bytearray(received_key),
        sent_key and bytearray(sent_key),
        ledger,
        encode_turn(turn, content),
        arrival,
    )
    rare = _list_rare(turn, prompt_key)
    return row if rare is None else row + rare


def _list_rare(turn: Turn, prompt_key: bytes | None) -> tuple[Any, ...] | None:
    """The values of the rare columns; None where all are NULL."""
    error = turn.error
    sampled = 0
    for completion in turn.completions:
        sampled += len(completion.token_ids)
    if not (
        sampled
        or turn.kept
        or prompt_key
        or error
        or turn.usage_injected
        or turn.policy_first is not None
        or turn.policy_last is not None
        or turn.idempotency is not None
        or turn.delivered is not Delivered.UNKNOWN
    ):
        return None
    return (
        None if turn.delivered is Delivered.UNKNOWN else turn.delivered,
        turn.kept or None,
        turn.policy_first,
        turn.policy_last,
        sampled or None,
        *_count_tokens(turn.usage_injected),
        None if error is None else error.source,
        None if error is None else error.kind,
        turn.idempotency,
        prompt_key,
    )


def insert_turns(execute: Callable[[str, list[Sequence[Any]]], int], rows: list[Sequence[Any]]) -> int:
    """Insert rows of `encode_row` in this order; return how many weren't there."""
    for row in rows:
        if len(row) > len(_COMMON):
            return execute(_INSERT, [row if len(row) == len(COLUMNS) else (*row, *_NO_RARE) for row in rows])
    return execute(_INSERT_PLAIN, rows)


def chain_keys(
    received: View | None, sent: View | None, prompt: Chain | None
) -> tuple[bytes | None, bytes | None, bytes | None]:
    """The columns with the keys of a turn's chains. A sent chain equal to the received one needs none."""
    received_key = received.chain.key if received is not None and received.chain is not None else None
    prompt_key = None if prompt is None else prompt.key
    if sent is received:
        return received_key, None, prompt_key
    sent_key = sent.chain.key if sent is not None and sent.chain is not None else None
    return received_key, None if sent_key == received_key else sent_key, prompt_key


def _count_tokens(usage: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """The prompt and completion tokens of a usage."""
    if not usage:
        return None, None
    prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
    if type(prompt) is type(completion) is int and 0 <= prompt < _MOST and 0 <= completion < _MOST:
        return prompt, completion
    return _count(usage, PROMPT_TOKENS), _count(usage, COMPLETION_TOKENS)


def _count(usage: Mapping[str, Any], members: Sequence[str]) -> int | None:
    for member in members:
        count = usage.get(member)
        if type(count) is int and 0 <= count < _MOST:
            return count
    return None


def read_turns(
    connection: sqlite3.Connection, sessions: Mapping[int, str], rest: str = "", *values: object
) -> dict[int, list[Turn]]:
    """The turns of these sessions, which are ids by number, in order of writing, with updates from after they
    were written; `rest` follows the condition on the sessions. Raises StoreError for a turn that is damaged.
    """
    readers = {number: _SessionTurns(connection, name, number) for number, name in sessions.items()}
    found: dict[int, list[Turn]] = {number: [] for number in sessions}
    query = f"{_SELECT} WHERE turn.session IN (SELECT value FROM json_each(?)) {rest} ORDER BY turn.id"
    for number, *row in connection.execute(query, (json.dumps(list(sessions)), *values)):
        found[number].append(readers[number].read(row))
    return found


class _SessionTurns:
    """Reads turns of one session, in the caller's snapshot."""

    def __init__(self, connection: sqlite3.Connection, session_id: str, number: int) -> None:
        self._connection = connection
        self._session_id = session_id
        self._number = number
        self._content = ContentReader(self._fetch)

    def _fetch(self, place: Place) -> TurnBody | None:
        query = "SELECT body FROM turn WHERE session = ? AND turn_index = ? AND attempt = ?"
        row = self._connection.execute(query, (self._number, *place)).fetchone()
        return None if row is None else decode_body(row[0], TurnBody)

    def read(self, row: Sequence[Any]) -> Turn:
        told = [text(value) if type(value) is bytes else value for value in row[: len(_SAME)]]
        fields: dict[str, Any] = dict(zip(_SAME.values(), told, strict=True))
        stored, kept, source, kind, request, body, delivered, durable, total_us = row[len(_SAME) :]
        place = fields["index"], fields["attempt"]
        try:
            found = decode_body(body, TurnBody)
            content = self._content.read(place, found)
        except DamagedBody as error:
            raise StoreError(
                f"turn {place[0]}, attempt {place[1]} of session {self._session_id!r} is damaged: {error}; "
                "restore the store from a backup"
            ) from error
        fields |= decode_fields(found, content, fields["finish_reason"])
        fields |= {
            "session_id": self._session_id,
            "fitness": Fitness(fields["fitness"]),
            "durable": Durable(durable or fields["durable"]),
            "delivered": Delivered(delivered or stored or Delivered.UNKNOWN),
            "stream": bool(fields["stream"]),
            "kept": bool(kept),
            "request": None if request is None else request.hex(),
            "error": None
            if source is None
            else TurnFailure(Source(text(source)), text(kind), text(found.error_message)),
        }
        if total_us is not None:
            fields["total_us"] = total_us
        return Turn(**fields)


def in_order(turns: Iterable[Turn]) -> list[Turn]:
    """The turns by index and attempt."""
    return sorted(turns, key=lambda turn: (turn.index, turn.attempt))
