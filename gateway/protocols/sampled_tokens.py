"""The tokens of one choice: ids, log-probabilities, and the versions that sampled them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from functools import lru_cache
from math import isfinite
from typing import Any

import msgspec

from crosswind.gateway.protocols.json_values import as_mappings
from crosswind.gateway.protocols.token_capture import parse_token_id
from crosswind.gateway.trajectory.record import Completion, VersionSpan

_FLOAT32, _INT32, _INT64 = 3.4e38, 1 << 31, 1 << 63
"""The limits of a record: log-probabilities of likely tokens, ids of tokens, and a choice's index."""
MOST_LIKELY = 255
"""The most likely tokens that are recorded at one place."""


class SampledChoice(msgspec.Struct):
    """The tokens of one choice so far."""

    token_ids: list[int] = []
    logprobs: list[float] = []
    versions: list[VersionSpan] = []
    top: list[tuple[tuple[int, float], ...]] = []
    finish_reason: str | None = None

    def take(self, choice: Mapping[str, Any]) -> bool:
        """Take in a choice of a body or of a chunk; True where it brings the finish_reason."""
        if isinstance(choice.get("token_ids"), list):
            self.token_ids += choice["token_ids"]
        if "weight_versions" in choice:
            self.versions += _versions(choice["weight_versions"])
        if isinstance(choice.get("finish_reason"), str):
            self.finish_reason = choice["finish_reason"]
            return True
        return False


def make_completion(index: int, choice: SampledChoice) -> Completion | None:
    """The choice for the record, without tokens that this can't hold; None if it can't hold the index."""
    if not -_INT64 <= index < _INT64:
        return None
    empty = not choice.token_ids and not choice.logprobs and not choice.versions
    if empty or not well_formed(index, choice):
        return _make_bare(index, choice.finish_reason)
    return Completion(
        index,
        tuple(choice.token_ids),
        tuple(choice.logprobs),
        choice.finish_reason,
        tuple(choice.versions),
        tuple(choice.top) if any(choice.top) else (),
    )


@lru_cache(64)
def _make_bare(index: int, finish_reason: str | None) -> Completion:
    """A choice without tokens: nearly all of these are equal."""
    return Completion(index, finish_reason=finish_reason)


def well_formed(index: int, choice: SampledChoice) -> bool:
    """Whether a record can hold the choice's index and the ids of its tokens."""
    try:
        array("i", choice.token_ids)
    except (OverflowError, TypeError):
        return False
    return -_INT64 <= index < _INT64


def versions_cover_tokens(choice: SampledChoice) -> bool:
    """Whether the versions that the engine names, if it does, cover all tokens in order."""
    if not choice.versions:
        return True
    ends = [0, *(span.end for span in choice.versions)]
    return ends[-1] == len(choice.token_ids) and all(
        before == span.start < span.end for before, span in zip(ends, choice.versions, strict=False)
    )


def select_likeliest(named: Iterable[tuple[Any, Any]]) -> tuple[tuple[int, float], ...]:
    """Tokens with their log-probabilities, the likeliest first, without those that are named by text and
    numbers that a record can't hold.
    """
    found = [
        (token, told)
        for name, logprob in named
        if isinstance(name, str)
        and (told := as_logprob(logprob)) is not None
        and (abs(told) < _FLOAT32 or not isfinite(told))
        and (token := parse_token_id(name)) is not None
        and token < _INT32
    ]
    return tuple(sorted(found, key=lambda pair: -pair[1])[:MOST_LIKELY])


def as_logprob(value: Any) -> float | None:
    """The value as a log-probability; None if it is none."""
    try:
        return float(value) if isinstance(value, int | float) else None
    except OverflowError:
        return None


def _versions(spans: Any) -> list[VersionSpan]:
    return [
        VersionSpan(str(span.get("version")), span["start"], span["end"])
        for span in as_mappings(spans)
        if isinstance(span.get("start"), int) and isinstance(span.get("end"), int)
    ]
