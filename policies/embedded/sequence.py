"""One completion on its way through the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal

Finish = Literal["stop", "length"]


@dataclass(slots=True)
class SampledSpan:
    """The tokens [start, end) of a completion were sampled by this version."""

    version: str
    start: int
    end: int


@dataclass(slots=True, eq=False)
class Sequence:
    """One completion: the request (fixed) and the tokens so far (only the engine's thread adds to them)."""

    prompt: list[int]
    limit: int
    """The most tokens to sample, at least 1."""
    temperature: float
    key: int
    """Of the noise: see `sampling`."""
    ends: frozenset[int]
    """Tokens that end a turn. The one sampled is part of the completion."""
    stopped: Callable[[list[int]], bool] | None = None
    """Asked after every token: whether a stop string stands in the text so far."""
    streams: bool = False
    """Whether every token is reported, or only the end."""
    top: int = 0
    """How many of the likeliest tokens are noted at each place."""
    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    likeliest: list[list[tuple[int, float]]] = field(default_factory=list)
    """By place, the likeliest first: tokens with their log-probabilities. Empty where `top` is 0."""
    spans: list[SampledSpan] = field(default_factory=list)
    cached: int = 0
    """Prompt tokens whose keys and values were in the prefix cache."""
    finish: Finish | None = None
    cancelled: bool = False
    mixed: bool = False
    """Keys and values come from more than one version: they may not enter the prefix cache."""

    def append(
        self, token: int, logprob: float, version: str, likeliest: Iterable[tuple[int, float]] = ()
    ) -> None:
        """Take a sampled token, and decide whether it is the last.

        Another thread may be reading: a token is shown after its log-probability, and `finish` after all
        tokens.
        """
        if not self.spans or self.spans[-1].version != version:
            self.spans.append(SampledSpan(version, len(self.tokens), len(self.tokens)))
        self.logprobs.append(logprob)
        if self.top:
            self.likeliest.append(list(likeliest))
        self.spans[-1].end += 1
        self.tokens.append(token)
        if token in self.ends or (self.stopped is not None and self.stopped(self.tokens)):
            self.finish = "stop"
        elif len(self.tokens) >= self.limit:
            self.finish = "length"
