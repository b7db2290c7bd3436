"""ToolRL's reward: the form of an answer, and how well its calls match the reference calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from crosswind.gateway.trajectory.prefixes import read_answer_message, read_calls
from crosswind.gateway.trajectory.record import Trajectory
from crosswind.trainer.rewards.reward import reward

REFERENCE = "reference_calls"
"""The session's label with the reference calls: a JSON list of {"name": ..., "arguments": {...}}."""
MOST = 3.0
Call = tuple[str, Mapping[str, Any]]


@reward("toolrl")
def toolrl(trajectory: Trajectory) -> float | None:
    """Format, 0 or 1, plus correctness, -3 to 3 (ToolRL, Qian et al. 2025, §3.3, as its public code has it).

    The format is right if there are calls where the reference has some and none where it has none, and every
    call has a name and a JSON object of arguments. Correctness is 0 where the reference has no calls, and -3
    where it has some and the answers have none, or one that can't be read. None without the label.
    """
    reference = _read_reference(trajectory.session.labels.get(REFERENCE))
    if reference is None or not trajectory.turns:
        return None
    messages = [read_answer_message(turn) for turn in trajectory.turns]
    said = [pair for message in messages if message is not None for pair in read_calls(message)]
    calls = [call for call in (_read_call(*pair) for pair in said) if call is not None]
    readable = len(calls) == len(said)
    form = float(readable and bool(calls) == bool(reference))
    if not reference:
        return form
    return form + (score_calls(calls, reference) if readable and calls else -MOST)


def score_calls(calls: Sequence[Call], reference: Sequence[Call]) -> float:
    """How well calls match the reference: 6 r / R - 3 in [-3, 3].

    r adds up the overlap of the names (Jaccard, of multisets) and, for each reference call, that of the
    parameters' names and the number of equal values, by the best call of its name that is left; R is the most
    that r can be.
    """
    points = _overlap([name for name, _ in calls], [name for name, _ in reference])
    most, left = 1.0, list(calls)
    for name, arguments in reference:
        most += 1.0 + len(arguments)
        own = [call for call in left if call[0] == name]
        if own:
            best = max(own, key=lambda call: _match(call[1], arguments))
            points += _match(best[1], arguments)
            left.remove(best)
    return 2 * MOST * points / most - MOST


def _match(given: Mapping[str, Any], expected: Mapping[str, Any]) -> float:
    equal = sum(bool(key in given and given[key] == value) for key, value in expected.items())
    return _overlap(list(given), list(expected)) + equal


def _overlap(one: Sequence[str], other: Sequence[str]) -> float:
    shared = (Counter(one) & Counter(other)).total()
    either = len(one) + len(other) - shared
    return shared / either if either else 1.0


def _read_reference(label: Any) -> list[Call] | None:
    try:
        calls = msgspec.json.decode(label) if isinstance(label, str) else None
        return None if calls is None else [(call["name"], call["arguments"]) for call in calls]
    except (msgspec.DecodeError, KeyError, TypeError):
        return None


def _read_call(name: str, arguments: str) -> Call | None:
    try:
        given = msgspec.json.decode(arguments)
    except msgspec.DecodeError:
        return None
    return (name, given) if name and isinstance(given, dict) else None
