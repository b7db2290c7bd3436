"""What the policy was asked and sampled within a turn: each round that was answered inside the gateway, then
the turn's own. A round's prompt and completion are the beginning of the next one's prompt.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crosswind.gateway.trajectory.fitness import Fitness
from crosswind.gateway.trajectory.record import Completion, InnerRound, Turn


@dataclass(frozen=True, slots=True)
class Step:
    """A prompt, by the engine's own token ids, and the one completion that the policy sampled for it."""

    prompt: list[int]
    completion: Completion
    versions: frozenset[str]
    """The policy versions that sampled it, as far as they are known."""


def steps(turn: Turn) -> tuple[Step, ...]:
    """The steps of a fit turn with one completion, in order."""
    own = _step(turn, _prompt(turn), turn.completions[0])
    return (*(_round(turn, entry) for entry in turn.rounds), own)


def unfit_round(turn: Turn) -> str | None:
    """Why one of the rounds answered inside can't be trained on; None where all of them can."""
    for entry in turn.rounds:
        if entry.fitness != Fitness.FIT:
            return entry.fitness
        if not entry.prompt_ids or len(entry.token_ids or ()) != 1:
            return "not_one_completion"
    return None


def version_names(turn: Turn) -> frozenset[str]:
    """The policy versions that sampled a turn, the rounds answered inside included."""
    return frozenset().union(*(step.versions for step in steps(turn)))


def _round(turn: Turn, entry: InnerRound) -> Step:
    assert entry.prompt_ids and entry.token_ids and entry.logprobs, "unfit rounds were refused before"
    spans = tuple(entry.versions[0]) if entry.versions else ()
    sampled = Completion(0, tuple(entry.token_ids[0]), tuple(entry.logprobs[0]), versions=spans)
    return _step(turn, entry.prompt_ids, sampled)


def _step(turn: Turn, prompt: list[int], completion: Completion) -> Step:
    """Where the completion doesn't say which versions sampled it, the turn does."""
    spans = frozenset(span.version for span in completion.versions)
    told = frozenset(name for name in (turn.policy_first, turn.policy_last) if name)
    return Step(prompt, completion, spans or told)


def _prompt(turn: Turn) -> list[int]:
    """The prompt's token ids as the engine gave them; empty where none are stored."""
    if turn.prompt_ids is None:
        return []
    ids: list[int] = np.frombuffer(turn.prompt_ids.bytes(), dtype="<i4").tolist()
    return ids
