"""Turns to token sequences, from the engine's own ids only: nothing is ever tokenised here.

A turn whose prompt extends an earlier turn's prompt and completion token for token continues that sequence;
otherwise a new sequence begins, and is counted. A training forward then costs each token once. Rounds of a
turn that were answered inside the gateway are steps of their own: the policy sampled them too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from crosswind.gateway.trajectory.record import Turn
from crosswind.trainer.rollouts.sampled_rounds import Step, steps


@dataclass(slots=True)
class TokenSequence:
    """Tokens that the policy read in one go, and which of them it sampled."""

    token_ids: list[int]
    sampled: list[int] = field(default_factory=list)
    """Ascending positions in `token_ids` of the sampled tokens; never 0."""
    logprobs: list[float] = field(default_factory=list)
    """The engine's log-probability (natural logarithm) of each sampled token."""
    current: list[bool] = field(default_factory=list)
    """Whether the newest policy version alone made the token's step, keys and values included."""


@dataclass(frozen=True, slots=True)
class Sequences:
    """A rollout's sequences. `splits` counts the steps that didn't extend what came before them."""

    sequences: tuple[TokenSequence, ...]
    splits: int

    @property
    def sampled(self) -> int:
        """Sampled tokens in all."""
        return sum(len(sequence.sampled) for sequence in self.sequences)

    @property
    def longest(self) -> int:
        return max(len(sequence.token_ids) for sequence in self.sequences)


def build(turns: Sequence[Turn], newest_version: str) -> Sequences:
    """Merge fit turns, each with one completion, in order. A sequence can be continued by one turn only."""
    done: list[TokenSequence] = []
    ends: dict[int, TokenSequence] = {}
    splits = 0
    previous: int | None = None
    for turn in turns:
        parent = turn.parent if turn.parent is not None else previous
        sequence = ends.pop(parent, None) if parent is not None else None
        goes_on = parent is not None
        for step in steps(turn):
            if sequence is None or not _extends(step.prompt, sequence.token_ids):
                splits += goes_on
                sequence = TokenSequence([])
                done.append(sequence)
            _append(sequence, step, newest_version)
            goes_on = True
        if sequence is not None:
            ends[turn.index] = sequence
        previous = turn.index
    return Sequences(tuple(done), splits)


def _extends(prompt: Sequence[int], tokens: Sequence[int]) -> bool:
    return len(prompt) > len(tokens) and list(prompt[: len(tokens)]) == list(tokens)


def _append(sequence: TokenSequence, step: Step, newest_version: str) -> None:
    completion = step.completion
    sequence.token_ids.extend(step.prompt[len(sequence.token_ids) :])
    start = len(sequence.token_ids)
    sequence.token_ids.extend(completion.token_ids)
    sequence.sampled.extend(range(start, len(sequence.token_ids)))
    sequence.logprobs.extend(completion.logprobs)
    # What was being sampled during a swap went on with the old version's keys and values: what the newest
    # version sampled in it is not what the newest version alone would have said.
    current = step.versions == {newest_version}
    sequence.current.extend([current] * len(completion.token_ids))
