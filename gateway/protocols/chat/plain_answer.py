"""Chat Completions: read of a plain answer only what its record needs."""

from __future__ import annotations

from typing import Any

import msgspec

from crosswind.gateway.protocols.json_values import UNREADABLE


class _Choice(msgspec.Struct, gc=False):
    index: int = 0
    finish_reason: str | None = None
    logprobs: None = None
    token_ids: None = None
    weight_versions: None = None


class PlainAnswer(msgspec.Struct, gc=False):
    """An answer without tokens. Its messages aren't read: the record has the body itself."""

    choices: list[_Choice] = []
    id: str | None = None
    model: str | None = None
    usage: dict[str, Any] | None = None
    error: None = None
    prompt_token_ids: None = None


_answers = msgspec.json.Decoder(PlainAnswer)


def read_plain(body: bytes) -> PlainAnswer | None:
    """None where the body has more, or is no such answer."""
    try:
        if not body.isascii():
            body.decode()  # what is skipped isn't checked
        return _answers.decode(body)
    except UNREADABLE:
        return None
