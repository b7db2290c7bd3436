"""How sure the policy was: the likeliest tokens at each place as the engine gave them, and entropy by them.

Entropies are in nats. Neither estimate is the distribution's own entropy, so each is told with its name.
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
"""Per sampled token the likeliest ones at its place, the likeliest first; empty at places without."""

TOP_K, SAMPLED = "top_k", "sampled"
"""Estimates: by the likeliest tokens with all others as one outcome, a lower bound; or by the sampled tokens
alone, the mean of -log p, which is right in expectation only.
"""

_PAIR = struct.Struct("<if")


@dataclass(frozen=True, slots=True)
class Entropy:
    """The mean over a turn's `tokens` sampled tokens."""

    nats: float
    estimate: str
    tokens: int


def turn_entropy(completions: Sequence[Completion]) -> Entropy | None:
    """The mean entropy per token of what a turn sampled; None where no log-probabilities are stored."""
    sampled = [logprob for completion in completions for logprob in completion.logprobs]
    if not sampled:
        return None
    places = [place for completion in completions for place in completion.top_logprobs]
    if len(places) == len(sampled) and all(places):
        return Entropy(sum(map(step_entropy, places)) / len(places), TOP_K, len(places))
    return Entropy(-sum(sampled) / len(sampled), SAMPLED, len(sampled))


def step_entropy(place: Sequence[TokenLogprob]) -> float:
    """The entropy at one place, of its likeliest tokens and of all others as one outcome."""
    possible = [logprob for _, logprob in place if logprob > -inf]
    rest = 1.0 - sum(map(exp, possible))
    known = -sum(exp(logprob) * logprob for logprob in possible)
    return known - rest * log(rest) if rest > 0.0 else known


def pack_top(places: TopLogprobs) -> bytes | None:
    """Per place: how many (a byte), then little-endian int32 ids each with its float32 log-probability."""
    if not places:
        return None
    return b"".join(
        bytes([len(place)]) + b"".join(_PAIR.pack(token, logprob) for token, logprob in place)
        for place in places
    )


def unpack_top(body: bytes | None) -> TopLogprobs:
    """What `pack_top` made."""
    places = []
    at, body = 0, body or b""
    while at < len(body):
        start, at = at + 1, at + 1 + body[at] * _PAIR.size
        places.append(tuple(_PAIR.iter_unpack(body[start:at])))
    return tuple(places)
