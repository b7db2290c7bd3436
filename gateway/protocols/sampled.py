"""The tokens of one choice as they come: ids, log-probabilities, and the versions that sampled them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gateway.protocols.capture import token_of
from gateway.trajectory.record import VersionSpan


@dataclass(slots=True)
class Sampled:
    """The tokens of one choice as they have come so far."""

    token_ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    versions: list[VersionSpan] = field(default_factory=list)
    top: list[tuple[tuple[int, float], ...]] = field(default_factory=list)
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


def as_mapping(value: Any) -> Mapping[str, Any]:
    """The value where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def spanned(choice: Sampled) -> bool:
    """Whether the versions that the engine names, if it does, are those of all tokens, in order."""
    if not choice.versions:
        return True
    ends = [0, *(span.end for span in choice.versions)]
    return ends[-1] == len(choice.token_ids) and all(
        before == span.start < span.end for before, span in zip(ends, choice.versions, strict=False)
    )


def likeliest(named: Iterable[tuple[Any, Any]]) -> tuple[tuple[int, float], ...]:
    """Tokens with their log-probabilities, the likeliest first; those that are named by text are left out."""
    found = [
        (token, float(logprob))
        for name, logprob in named
        if isinstance(name, str)
        and isinstance(logprob, int | float)
        and (token := token_of(name)) is not None
    ]
    return tuple(sorted(found, key=lambda pair: -pair[1]))


def _versions(spans: Any) -> list[VersionSpan]:
    return [
        VersionSpan(str(span.get("version")), span["start"], span["end"])
        for span in (spans if isinstance(spans, list) else [])
        if isinstance(span, dict) and isinstance(span.get("start"), int) and isinstance(span.get("end"), int)
    ]
