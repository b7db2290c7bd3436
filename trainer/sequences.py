"""Turns to token sequences, from the engine's own ids only: nothing is ever tokenised here.

A turn whose prompt extends an earlier turn's prompt and completion token for token continues that sequence;
otherwise a new sequence begins, and is counted. A training forward then costs each token once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from gateway.trajectory.record import Turn


@dataclass(slots=True)
class TokenSequence:
    """Tokens that the policy read in one go, and which of them it sampled."""

    token_ids: list[int]
    sampled: list[int] = field(default_factory=list)
    """Ascending positions in `token_ids` of the sampled tokens; never 0."""
    logprobs: list[float] = field(default_factory=list)
    """The engine's log-probability (natural logarithm) of each sampled token."""
    current: list[bool] = field(default_factory=list)
    """Whether the newest policy version alone made the token's turn, keys and values included."""


@dataclass(frozen=True, slots=True)
class Sequences:
    """A rollout's sequences. `splits` counts the turns that didn't extend what came before them."""

    sequences: tuple[TokenSequence, ...]
    splits: int

    @property
    def sampled(self) -> int:
        """Sampled tokens in all."""
        return sum(len(sequence.sampled) for sequence in self.sequences)

    @property
    def longest(self) -> int:
        return max(len(sequence.token_ids) for sequence in self.sequences)


def prompt_tokens(turn: Turn) -> list[int]:
    """The prompt's token ids as the engine gave them; empty where none are stored."""
    if turn.prompt_ids is None:
        return []
    ids: list[int] = np.frombuffer(turn.prompt_ids.bytes(), dtype="<i4").tolist()
    return ids


def build(turns: Sequence[Turn], newest_version: str) -> Sequences:
    """Merge fit turns, each with one completion, in order. A sequence can be continued by one turn only."""
    done: list[TokenSequence] = []
    ends: dict[int, TokenSequence] = {}
    splits = 0
    previous: int | None = None
    for turn in turns:
        prompt = prompt_tokens(turn)
        parent = turn.parent if turn.parent is not None else previous
        sequence = ends.pop(parent, None) if parent is not None else None
        if sequence is None or not _extends(prompt, sequence.token_ids):
            splits += parent is not None
            sequence = TokenSequence([])
            done.append(sequence)
        sequence.token_ids.extend(prompt[len(sequence.token_ids) :])
        _append_completion(sequence, turn, newest_version)
        ends[turn.index] = sequence
        previous = turn.index
    return Sequences(tuple(done), splits)


def _extends(prompt: Sequence[int], tokens: Sequence[int]) -> bool:
    return len(prompt) > len(tokens) and list(prompt[: len(tokens)]) == list(tokens)


def _append_completion(sequence: TokenSequence, turn: Turn, newest_version: str) -> None:
    completion = turn.completions[0]
    start = len(sequence.token_ids)
    sequence.token_ids.extend(completion.token_ids)
    sequence.sampled.extend(range(start, len(sequence.token_ids)))
    sequence.logprobs.extend(completion.logprobs)
    # A turn that was being sampled during a swap went on with the old version's keys and values: what the
    # newest version sampled in it is not what the newest version alone would have said.
    versions: set[str | None] = {span.version for span in completion.versions} or {
        turn.policy_first,
        turn.policy_last,
    }
    sequence.current.extend([versions == {newest_version}] * len(completion.token_ids))
