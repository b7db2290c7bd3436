"""The true ids of calls to which noise gave other ids.

A client answers the calls by the ids that it was given. The policy never made these, and providers refuse a
history in which two calls share an id: what goes upstream has the true ids again, in the calls and in the
results, by their order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from crosswind.gateway.protocols.history import HistoryStep
from crosswind.gateway.protocols.message_format import ParsedMessage, ToolResultPart

IdPairs = tuple[tuple[str, str], ...]
"""The ids of an answer's calls in order, as the client got them and as the policy made them."""


class MessageIds(NamedTuple):
    """The ids of one message, in its order: those of its calls, and those that its results name."""

    calls: tuple[str, ...]
    results: tuple[str, ...]


def find_true_ids(
    steps: Sequence[HistoryStep], changed: Callable[[str], IdPairs]
) -> Mapping[int, MessageIds]:
    """The ids of the messages that must be changed, by the messages' indexes. `changed` gives the pairs of
    the answer that begins with the policy's message of this anchor; empty where noise left its ids alone.
    """
    found: dict[int, MessageIds] = {}
    calls: dict[int, list[str]] = {}
    waiting: dict[str, list[str]] = {}
    """By the client's id: the true ids of the calls without a result so far."""
    for index, step in enumerate(steps):
        pairs = changed(step.policy_anchor) if step.policy_anchor is not None and index not in calls else ()
        if pairs and (places := _find_calls(steps, index, pairs)):
            waiting = {}
            for place, (given, true) in zip(places, pairs, strict=True):
                calls.setdefault(place, []).append(true)
                waiting.setdefault(given, []).append(true)
        elif step.parsed.calls and index not in calls:
            waiting = {}
        results = [part.call_id for part in step.parsed.parts if isinstance(part, ToolResultPart)]
        true_results = [waiting[one].pop(0) if waiting.get(one) else one for one in results]
        if index in calls or true_results != results:
            found[index] = MessageIds(tuple(calls.get(index, ())), tuple(true_results))
    return found


def _find_calls(steps: Sequence[HistoryStep], start: int, pairs: IdPairs) -> list[int]:
    """For each call of an answer the message that has it: one message, or several in a row. Empty where the
    history has other calls there, as after a retry whose answer came through.
    """
    places: list[int] = []
    for index, step in enumerate(steps[start:], start):
        if len(places) == len(pairs):
            break
        ids = _call_ids(step.parsed)
        if ids != [given for given, _ in pairs[len(places) :][: len(ids)]]:
            return []
        places += [index] * len(ids)
    return places if len(places) == len(pairs) else []


def _call_ids(message: ParsedMessage) -> list[str]:
    return [call.call_id for call in message.calls]
