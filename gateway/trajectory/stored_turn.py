"""A turn and its ledger rows as stored bodies, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from crosswind.gateway.errors import UpstreamAttempt
from crosswind.gateway.trajectory.content import pack, unpack
from crosswind.gateway.trajectory.json_text import (
    from_json,
    storable,
    text,
    to_json,
    to_json_with_infinities,
)
from crosswind.gateway.trajectory.ledger_rows import NameMap, Shown
from crosswind.gateway.trajectory.likelihood import pack_top, unpack_top
from crosswind.gateway.trajectory.record import Completion, InnerRound, Turn, VersionSpan
from crosswind.gateway.trajectory.session_content import SessionContent, TurnContent
from crosswind.gateway.trajectory.turn_body import (
    DELIVERED,
    PRODUCED,
    PROMPT,
    RECEIVED,
    SENT,
    LedgerBody,
    StoredCompletion,
    StoredShown,
    TurnBody,
    encode_body,
)
from crosswind.injectors.plain_data import convert


def encode_turn(turn: Turn, content: SessionContent) -> bytearray:
    """The body of a turn. Raises TypeError, ValueError or OverflowError for what can't be stored."""
    index, attempt = turn.index, turn.attempt
    content.begin(index, turn.parent)
    received, sent, produced, delivered = turn.received, turn.sent, turn.produced, turn.delivered_view
    prompt, error = turn.prompt_ids, turn.error
    completions = None if _is_bare(turn) else [_encode_completion(one) for one in turn.completions]
    message = None if error is None else error.message
    # The fields of a TurnBody.
    body = (
        None if received is None else content.view(received, (index, attempt, RECEIVED)),
        None
        if sent is None
        else True
        if sent is received
        else content.view(sent, (index, attempt, SENT), received),
        None if produced is None else content.view(produced, (index, attempt, PRODUCED)),
        None if delivered is None else content.view(delivered, (index, attempt, DELIVERED)),
        None if prompt is None else content.chain(prompt, (index, attempt, PROMPT)),
        completions,
        to_json(turn.usage) if turn.usage else "{}",
        to_json(turn.usage_injected) if turn.usage_injected else "{}",
        to_json_with_infinities(msgspec.to_builtins(turn.inner)) if turn.inner else None,
        message,
        turn.spared,
    )
    try:
        return encode_body(body)
    except UnicodeEncodeError:
        told = completions and [
            msgspec.structs.replace(one, finish_reason=storable(one.finish_reason)) for one in completions
        ]
        return encode_body((*body[:5], told, *body[6:9], storable(message), body[10]))


def _is_bare(turn: Turn) -> bool:
    """Whether the turn has a single choice without tokens, of which its own finish reason says all."""
    if len(turn.completions) != 1:
        return False
    (one,) = turn.completions
    if one.token_ids or one.logprobs or one.versions or one.top_logprobs or one.index:
        return False
    return one.finish_reason == turn.finish_reason


def _encode_completion(row: Completion) -> StoredCompletion:
    spans = [(span.version, span.start, span.end) for span in row.versions]
    return StoredCompletion(
        row.index,
        pack("i", row.token_ids),
        pack("d", row.logprobs),
        row.finish_reason,
        to_json(spans) if spans else None,
        pack_top(row.top_logprobs),
    )


def decode_fields(body: TurnBody, content: TurnContent, finish_reason: str | None) -> dict[str, Any]:
    """The fields of a turn that its columns don't hold, but for its error."""
    bare = (Completion(0, finish_reason=finish_reason),)
    return {
        "received": content.received,
        "sent": content.sent,
        "produced": content.produced,
        "delivered_view": content.delivered,
        "prompt_ids": content.prompt,
        "completions": bare if body.completions is None else tuple(map(_decode_completion, body.completions)),
        "usage": from_json(body.usage),
        "usage_injected": from_json(body.usage_injected),
        "inner": tuple(map(_decode_inner, from_json(body.inner))) if body.inner else (),
        "spared": body.spared,
    }


def _decode_completion(stored: StoredCompletion) -> Completion:
    return Completion(
        stored.index,
        unpack("i", stored.token_ids),
        unpack("d", stored.logprobs),
        text(stored.finish_reason),
        tuple(VersionSpan(*span) for span in from_json(stored.versions)) if stored.versions else (),
        unpack_top(stored.top_logprobs),
    )


def _decode_inner(entry: Any) -> InnerRound | UpstreamAttempt:
    """Rounds have no tag of their own in a store, so that the entry's shape decides."""
    return convert(entry, UpstreamAttempt) if "kind" in entry else convert(entry, InnerRound)


def encode_ledger(shown: Sequence[Shown], names: Sequence[NameMap]) -> bytearray | None:
    """The body of a turn's ledger rows; None if there are none."""
    if not shown and not names:
        return None
    told = [
        (
            row.anchor,
            row.site,
            row.ordinal,
            row.turn_index,
            row.clean_hash,
            to_json(row.decisions) if row.decisions else None,
            row.text,
            row.branch,
        )
        for row in shown
    ]
    mapped = [(row.declared, row.shown, row.turn_index) for row in names]
    try:
        return encode_body((told, mapped))
    except UnicodeEncodeError:
        return encode_body([[list(map(storable, row)) for row in rows] for rows in (told, mapped)])


def decode_shown(session_id: str, stored: StoredShown) -> Shown:
    return Shown(
        session_id,
        text(stored.anchor),
        text(stored.site),
        stored.ordinal,
        stored.turn_index,
        text(stored.clean_hash),
        tuple(from_json(stored.decisions)) if stored.decisions else (),
        text(stored.text),
        text(stored.branch),
    )


def without_texts(body: LedgerBody) -> bytearray:
    """The ledger rows again, with the texts erased and the decisions kept."""
    erased = [msgspec.structs.replace(row, text=None) for row in body.shown]
    return encode_body(LedgerBody(erased, body.names))
