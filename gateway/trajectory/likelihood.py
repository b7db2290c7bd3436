"""The policy's uncertainty: entropy estimated from the log-probabilities that the engine reported.

Entropies are in nats. Neither estimate is the exact entropy, so each is reported with its name.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, log

from crosswind.gateway.trajectory.record import Completion

TokenLogprob = tuple[int, float]
"""A token's id with its log-probability (natural logarithm)."""

TopLogprobs = tuple[tuple[TokenLogprob, ...], ...]
"""The likeliest tokens at each sampled position, likeliest first; empty where there are none."""

TOP_K, SAMPLED = "top_k", "sampled"
"""Estimates. `top_k` treats all but the likeliest tokens as one outcome, a lower bound. `sampled` is the mean
of -log p over the sampled tokens, correct only in expectation.
"""

_PAIR = struct.Struct("<if")


@dataclass(frozen=True, slots=True)
class Entropy:
    """The mean over a turn's `tokens` sampled tokens."""

    nats: float
    estimate: str
    tokens: int


def turn_entropy(completions: Sequence[Completion]) -> Entropy | None:
    """The mean entropy per sampled token of a turn; None if no log-probabilities are stored."""
    sampled = [logprob for completion in completions for logprob in completion.logprobs]
    if not sampled:
        return None
    places = [place for completion in completions for place in completion.top_logprobs]
    if len(places) == len(sampled) and all(places):
        return Entropy(sum(map(step_entropy, places)) / len(places), TOP_K, len(places))
    return Entropy(-sum(sampled) / len(sampled), SAMPLED, len(sampled))


def step_entropy(place: Sequence[TokenLogprob]) -> float:
    """The entropy at one position, with all but the likeliest tokens as one outcome."""
    possible = [logprob for _, logprob in place if logprob > -inf]
    rest = 1.0 - sum(map(exp, possible))
    known = -sum(exp(logprob) * logprob for logprob in possible)
    return known - rest * log(rest) if rest > 0.0 else known


def pack_top(places: TopLogprobs) -> bytes | None:
    """Encode each position as a count (a byte), then little-endian pairs of int32 id and float32
    log-probability.
    """
    if not places:
        return None
    return b"".join(
        bytes([len(place)]) + b"".join(_PAIR.pack(token, logprob) for token, logprob in place)
        for place in places
    )


def unpack_top(body: bytes | None) -> TopLogprobs:
    places = []
    at, body = 0, body or b""
    while at < len(body):
        start, at = at + 1, at + 1 + body[at] * _PAIR.size
        places.append(tuple(_PAIR.iter_unpack(body[start:at])))
    return tuple(places)
