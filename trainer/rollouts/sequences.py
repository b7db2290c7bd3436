"""Turns to token sequences, from the engine's own ids only: nothing is ever tokenised here.

A turn whose prompt extends an earlier turn's prompt and completion token for token continues that sequence;
otherwise a new sequence begins, and is counted. A training forward then costs each token once. Rounds of a
turn that were answered inside the gateway are steps of their own: the policy sampled them too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import isfinite

from crosswind.gateway.trajectory.content import unpack
from crosswind.gateway.trajectory.fitness import Fitness
from crosswind.gateway.trajectory.record import Completion, InnerRound, Turn, VersionSpan


@dataclass(frozen=True, slots=True)
class SampledRound:
    """A prompt, by the engine's own token ids, and the one completion that the policy sampled for it."""

    prompt: list[int]
    completion: Completion
    versions: frozenset[str]
    """The policy versions that sampled it, as far as they are known."""


def list_rounds(turn: Turn) -> tuple[SampledRound, ...]:
    """The steps of a fit turn with one completion, in order."""
    own = _make_round(turn, _prompt_ids(turn), turn.completions[0])
    return (*[_read_round(turn, entry) for entry in turn.rounds], own)


def find_unfit_round(turn: Turn) -> str | None:
    """Why one of the rounds answered inside can't be trained on; None where all of them can."""
    for entry in turn.rounds:
        if entry.fitness != Fitness.FIT:
            return entry.fitness
        if not entry.prompt_ids or len(entry.token_ids or ()) != 1:
            return "not_one_completion"
    return None


def find_unusable_tokens(turn: Turn, vocabulary: int | None) -> str | None:
    """Why the token ids and log-probabilities of a fit turn can't be computed with; None where they can.
    `vocabulary` is the number of tokens that the policy has.
    """
    for one in list_rounds(turn):
        tokens, logprobs = one.completion.token_ids, one.completion.logprobs
        if not one.prompt or not tokens:
            return "empty_tokens"
        if len(tokens) != len(logprobs) or not all(map(isfinite, logprobs)):
            return "no_finite_logprobs"
        known = (0, *one.prompt, *tokens)
        if vocabulary is not None and (min(known) < 0 or max(known) >= vocabulary):
            return "other_tokenizer"
    return None


def sampling_versions(turn: Turn) -> frozenset[str]:
    """The policy versions that sampled a turn, the rounds answered inside included."""
    versions = _list_versions(turn, turn.completions[0].versions)
    return versions.union(*[_list_versions(turn, _read_spans(entry)) for entry in turn.rounds])


def _read_round(turn: Turn, entry: InnerRound) -> SampledRound:
    assert entry.prompt_ids and entry.token_ids and entry.logprobs, "unfit rounds were refused before"
    sampled = Completion(0, tuple(entry.token_ids[0]), tuple(entry.logprobs[0]), versions=_read_spans(entry))
    return _make_round(turn, entry.prompt_ids, sampled)


def _read_spans(entry: InnerRound) -> tuple[VersionSpan, ...]:
    return tuple(entry.versions[0]) if entry.versions else ()


def _make_round(turn: Turn, prompt: list[int], completion: Completion) -> SampledRound:
    return SampledRound(prompt, completion, _list_versions(turn, completion.versions))


def _list_versions(turn: Turn, spans: Iterable[VersionSpan]) -> frozenset[str]:
    """Where a completion doesn't say which versions sampled it, the turn does."""
    named = frozenset([span.version for span in spans])
    return named or frozenset([name for name in (turn.policy_first, turn.policy_last) if name])


def _prompt_ids(turn: Turn) -> list[int]:
    """The prompt's token ids as the engine gave them; empty where none are stored."""
    if turn.prompt_ids is None:
        return []
    return list(unpack("i", turn.prompt_ids.bytes()))


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
    turns: list[int] = field(default_factory=list)
    """The indexes of the turns that it holds, in order."""


@dataclass(frozen=True, slots=True)
class RolloutSequences:
    """A rollout's sequences. `splits` counts the steps that didn't extend what came before them."""

    sequences: tuple[TokenSequence, ...]
    splits: int

    @property
    def sampled(self) -> int:
        return sum(len(sequence.sampled) for sequence in self.sequences)

    @property
    def longest(self) -> int:
        return max(len(sequence.token_ids) for sequence in self.sequences)


def build_sequences(turns: Sequence[Turn], newest_version: str) -> RolloutSequences:
    """Merge fit turns, each with one completion, in order. A sequence can be continued by one turn only."""
    done: list[TokenSequence] = []
    ends: dict[int, TokenSequence] = {}
    splits = 0
    previous: int | None = None
    for turn in turns:
        parent = turn.parent if turn.parent is not None else previous
        sequence = ends.pop(parent, None) if parent is not None else None
        goes_on = parent is not None
        for sampled in list_rounds(turn):
            if sequence is None or not _extends(sampled.prompt, sequence.token_ids):
                splits += goes_on
                sequence = TokenSequence([])
                done.append(sequence)
            _append(sequence, sampled, newest_version)
            if turn.index not in sequence.turns[-1:]:
                sequence.turns.append(turn.index)
            goes_on = True
        if sequence is not None:
            ends[turn.index] = sequence
        previous = turn.index
    return RolloutSequences(tuple(done), splits)


def _extends(prompt: Sequence[int], tokens: Sequence[int]) -> bool:
    return len(prompt) > len(tokens) and list(prompt[: len(tokens)]) == list(tokens)


def _append(sequence: TokenSequence, sampled: SampledRound, newest_version: str) -> None:
    completion = sampled.completion
    sequence.token_ids.extend(sampled.prompt[len(sequence.token_ids) :])
    start = len(sequence.token_ids)
    sequence.token_ids.extend(completion.token_ids)
    sequence.sampled.extend(range(start, len(sequence.token_ids)))
    sequence.logprobs.extend(completion.logprobs)
    # A completion that was sampled during a swap continued with the old version's keys and values. So its
    # tokens from the newest version aren't what that version alone would have sampled.
    current = sampled.versions == {newest_version}
    sequence.current.extend([current] * len(completion.token_ids))
