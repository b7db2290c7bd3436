"""Confirm a version: the engine's log-probabilities and the trainer's on the same tokens must agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum, inf, isnan

from crosswind.policies.engine import Engine, EngineError

TOLERANCE = 1e-3
"""What is taken for rounding: the mean difference and the 99th percentile may both be this large. Measured in
float32: 4e-6 at most against transformers; a bfloat16 engine needs 0.1 (7e-2 were seen at most).
"""


@dataclass(frozen=True, slots=True)
class Difference:
    """How far two models' log-probabilities of the same tokens are apart, in nats."""

    mean: float
    percentile_99: float
    largest: float
    """One worst token of many says little in bfloat16: it is reported, and not judged by."""
    tokens: int

    def is_rounding(self, tolerance: float) -> bool:
        """Whether the models are the same. Few tokens that are far apart raise the mean, many the 99th
        percentile.
        """
        return self.mean <= tolerance and self.percentile_99 <= tolerance

    def describe_agreement(self) -> str:
        return f"within {self.largest:.2g} over {self.tokens} tokens"

    def __str__(self) -> str:
        return (
            f"{self.mean:.3g} on average, {self.percentile_99:.3g} at the 99th percentile and "
            f"{self.largest:.3g} at most, over {self.tokens} tokens"
        )


def measure_difference(ones: Sequence[float], others: Sequence[float]) -> Difference:
    """The absolute differences of two models' log-probabilities of the same tokens."""
    apart = sorted(_difference(one, other) for one, other in zip(ones, others, strict=True))
    if not apart:
        return Difference(0.0, 0.0, 0.0, 0)
    percentile_99 = apart[-1 - len(apart) // 100]
    return Difference(fsum(apart) / len(apart), percentile_99, apart[-1], len(apart))


@dataclass(frozen=True, slots=True)
class Probe:
    """Token sequences with the log-probabilities (natural logarithm, at temperature 1) that the trainer gives
    their completions.
    """

    prompts: Sequence[Sequence[int]]
    completions: Sequence[Sequence[int]]
    logprobs: Sequence[Sequence[float]]


@dataclass(frozen=True, slots=True)
class Confirmation:
    """How far the engine's log-probabilities and the trainer's are apart."""

    version: str
    difference: Difference
    away: Mapping[str, str] = field(default_factory=dict)
    """Of several servers those that it isn't said of, by their URLs, with why."""


def confirm(engine: Engine, version: str, probe: Probe) -> Confirmation:
    """Compare on the probe's tokens. Raises EngineError if the engine serves another version, or gives
    another number of log-probabilities than it was asked for.
    """
    scored = engine.score(probe.prompts, probe.completions)
    if scored.version != version:
        raise EngineError(f"the engine serves version {scored.version!r}, not {version!r}: publish it again")
    lengths = [len(row) for row in probe.logprobs]
    if [len(row) for row in scored.logprobs] != lengths:
        raise EngineError(
            f"the engine gave {sum(map(len, scored.logprobs))} log-probabilities for {sum(lengths)} tokens: "
            "it doesn't score the tokens that it is given"
        )
    difference = measure_difference(
        [value for row in scored.logprobs for value in row],
        [value for row in probe.logprobs for value in row],
    )
    return Confirmation(version, difference, scored.away)


def _difference(ours: float, theirs: float) -> float:
    """The absolute difference; infinite if one isn't a number, so that no comparison overlooks it."""
    difference = abs(ours - theirs)
    return inf if isnan(difference) else difference
