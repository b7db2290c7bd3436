"""Token capture: what is added to a request so that the engine tells which tokens it sampled.

Sampling knobs under which the recorded log-probabilities would answer another question are neutralised for
training. What else constrains the sampling is left, and makes the turn unfit: see `constraints`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crosswind.gateway.protocols.document import encode
from crosswind.gateway.protocols.request import Request

FALSIFYING = (
    "top_p",
    "top_k",
    "min_p",
    "frequency_penalty",
    "presence_penalty",
    "repetition_penalty",
    "logit_bias",
    "min_tokens",
    "bad_words",
)
"""Sampling knobs under which the log-probabilities that come back are not those of the policy's own
distribution: an engine gives what is left of it (measured on vLLM), or what it was before (others).
"""

NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "top_p": (1, None),
    "top_k": (-1, 0, None),
    "min_p": (0, None),
    "frequency_penalty": (0, None),
    "presence_penalty": (0, None),
    "repetition_penalty": (1, None),
    "logit_bias": ({}, None),
    "min_tokens": (0, None),
    "bad_words": ([], None),
}

BY_ID: Mapping[str, bytes] = {"return_tokens_as_token_ids": b"true"}
"""Tokens of log-probabilities by their ids (`token_id:17`): texts don't tell all tokens apart. Only where the
client gets none of them.
"""


MOST_DIGITS = 18
"""No token's id has as many."""


def parse_token_id(name: str) -> int | None:
    """The id in a token's name as `BY_ID` asks for it; None where the name is the token's text."""
    number = name.removeprefix("token_id:")
    plain = number is not name and number.isascii() and number.isdecimal()
    return int(number) if plain and len(number) <= MOST_DIGITS else None


def capture_edits(
    request: Request, asking: Mapping[str, bytes], *, training: bool
) -> tuple[dict[str, bytes | None], tuple[str, ...]]:
    """The members that capture adds or changes (`asking`, and a stream's usage), and the sampling knobs that
    it neutralised (training only).
    """
    edits: dict[str, bytes | None] = dict(asking)
    if request.stream and "usage" not in request.requested:
        options = request.document.value("stream_options")
        edits["stream_options"] = encode(
            {**(options if isinstance(options, dict) else {}), "include_usage": True}
        )
    if not training:
        return edits, ()
    present = [name for name in FALSIFYING if name in request.document.members]
    neutralised = tuple(name for name in present if request.document.value(name) not in NEUTRAL[name])
    return edits | dict.fromkeys(neutralised), neutralised
