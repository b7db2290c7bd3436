"""The true ids of calls to which noise gave other ids.

A client answers calls by the ids that it received. The policy didn't make those ids, and providers refuse a
history in which two calls share an id. So the request that goes upstream gets the true ids back, in calls and
results, by their order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from crosswind.gateway.protocols.history import History, HistoryStep
from crosswind.gateway.protocols.message_format import ToolResultPart

IdPairs = tuple[tuple[str, str], ...]
"""The ids of an answer's calls in order, as the client got them and as the policy made them."""


class MessageIds(NamedTuple):
    """The ids of one message, in its order: those of its calls, and those that its results name. `missing`:
    those of calls whose results are still to follow it.
    """

    calls: tuple[str, ...]
    results: tuple[str, ...]
    missing: tuple[str, ...] = ()


MISSING_RESULT = (
    "There is no result of this call: another call had the same id, and the client gave one result for both. "
    "The call may have been made."
)
"""What answers a call without a result: providers refuse a history with one."""


@dataclass(slots=True)
class _Answered:
    """The calls of one answer whose ids noise changed, and the results that the client gave for them."""

    true: dict[str, list[str]] = field(default_factory=dict)
    """By the client's id: the ids that the policy gave."""
    given: list[tuple[int, str]] = field(default_factory=list)
    """The results in order: the index of their message, and the client's id."""

    def assign(self) -> Iterator[tuple[int, str]]:
        """The true id of each result. Where a client gives fewer results than calls, it has kept them by id,
        and the last call's is what it has.
        """
        times = Counter(one for _, one in self.given)
        left = {one: true[-times[one] :] for one, true in self.true.items() if times[one]}
        for index, one in self.given:
            yield index, left[one].pop(0) if left.get(one) else one

    def missing(self) -> tuple[str, ...]:
        """The ids of calls without a result, where another call of the same id has one."""
        times = Counter(one for _, one in self.given)
        return tuple(id_ for one, true in self.true.items() if times[one] for id_ in true[: -times[one]])


def find_true_ids(
    history: History, length: int, changed: Callable[[str], IdPairs]
) -> Mapping[int, MessageIds]:
    """The ids of the messages that must be changed, among the first `length`, by the messages' indexes.
    `changed` gives the pairs of the answer that begins with the policy's message of this anchor; empty where
    noise left its ids alone.
    """
    steps = history.steps[:length]
    calls: dict[int, list[str]] = {}
    answers = [_Answered()]
    for index, (step, anchor) in enumerate(zip(steps, history.policy_anchors(length), strict=True)):
        pairs = changed(anchor) if anchor is not None and index not in calls else ()
        if pairs and (places := _find_calls(steps, index, pairs)):
            answers.append(_Answered())
            for place, (given, true) in zip(places, pairs, strict=True):
                calls.setdefault(place, []).append(true)
                answers[-1].true.setdefault(given, []).append(true)
        elif step.parsed.calls and index not in calls:
            answers.append(_Answered())
        named = [part.call_id for part in step.parsed.parts if isinstance(part, ToolResultPart)]
        answers[-1].given += [(index, one) for one in named]
    return _by_message(calls, answers)


def _by_message(calls: Mapping[int, list[str]], answers: Iterable[_Answered]) -> dict[int, MessageIds]:
    found = {index: MessageIds(tuple(ids), ()) for index, ids in calls.items()}
    for one in answers:
        given: dict[int, list[str]] = {}
        results: dict[int, list[str]] = {}
        for (index, was), (_, true) in zip(one.given, one.assign(), strict=True):
            given.setdefault(index, []).append(was)
            results.setdefault(index, []).append(true)
        missing = one.missing()
        for index, ids in results.items():
            behind = missing if index == one.given[-1][0] else ()
            if ids != given[index] or behind:
                own = found.get(index, MessageIds((), ()))
                found[index] = MessageIds(own.calls, tuple(ids), behind)
    return found


def _find_calls(steps: Sequence[HistoryStep], start: int, pairs: IdPairs) -> list[int]:
    """For each call of an answer the message that has it: one message, or several in a row. Empty where the
    history has other calls there, as after a retry whose answer came through.
    """
    places: list[int] = []
    for index, step in enumerate(steps[start:], start):
        if len(places) == len(pairs):
            break
        ids = [call.call_id for call in step.parsed.calls]
        if ids != [given for given, _ in pairs[len(places) :][: len(ids)]]:
            return []
        places += [index] * len(ids)
    return places if len(places) == len(pairs) else []
