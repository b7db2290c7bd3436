"""Confirm a version: the engine's log-probabilities and the trainer's on the same tokens must agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isnan

from crosswind.policies.engine import Engine, EngineError

TOLERANCE = 1e-3
"""Largest difference that is taken for rounding. Measured in float32: 4e-6 against transformers; a bfloat16
engine needs 0.1 (7e-2 were seen).
"""


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
    """The largest absolute difference, over `tokens` tokens, of the engine's and the trainer's log-
    probabilities.
    """

    version: str
    max_difference: float
    tokens: int
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
    differences = [
        _difference(ours, theirs)
        for mine, other in zip(scored.logprobs, probe.logprobs, strict=True)
        for ours, theirs in zip(mine, other, strict=True)
    ]
    return Confirmation(version, max(differences, default=0.0), len(differences), scored.away)


def _difference(ours: float, theirs: float) -> float:
    """The absolute difference; infinite if one isn't a number, so that no comparison overlooks it."""
    difference = abs(ours - theirs)
    return inf if isnan(difference) else difference
