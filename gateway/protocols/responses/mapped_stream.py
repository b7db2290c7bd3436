"""Responses: map the items of a streamed round to the client's: hidden ones are dropped, the others
renumbered.

Calls wait until it is known whether they are hidden. Reasoning waits where calls may be hidden, since it
belongs to the item behind it and goes where that goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from crosswind.gateway.http.sse import SseEvent, replace_event_data
from crosswind.gateway.protocols.hidden_tools import CallMapping
from crosswind.gateway.protocols.json_values import as_text, encode
from crosswind.gateway.protocols.responses.items import rename_loaded_tools

ADDED, DONE = "response.output_item.added", "response.output_item.done"
_MADE = "response.function_call_arguments.done"

Verdict = bool | None
"""Whether an item is for the client; None: not yet known."""


def is_hidden_call(item: Any, mapping: CallMapping) -> bool:
    """Whether a complete output item is a call that is answered inside the gateway."""
    if not is_call(item):
        return False
    return isinstance(item.get("name"), str) and mapping.is_hidden(item["name"], as_text(item, "arguments"))


def is_call(item: Any) -> bool:
    """Whether an output item is a call of one of the client's functions outside of namespaces."""
    return isinstance(item, dict) and item.get("type") == "function_call" and not item.get("namespace")


def is_reasoning(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type") == "reasoning"


def select_client_items(output: Sequence[Any], mapping: CallMapping) -> list[bool]:
    """Which items of a complete output are for the client. Reasoning goes with the next item that is, if one
    comes before the next reasoning; else with the hidden calls behind it.
    """
    verdicts: list[Verdict] = [
        None if is_reasoning(item) else not is_hidden_call(item, mapping) for item in output
    ]
    return [decide_reasoning(verdicts, at, over=True) is not False for at in range(len(output))]


def decide_reasoning(verdicts: Sequence[Verdict], at: int, *, over: bool) -> Verdict:
    """The verdict at an index; for reasoning (None) it follows from the items behind it. `over`: no more
    items will come.
    """
    if verdicts[at] is not None:
        return verdicts[at]
    for later in range(at + 1, len(verdicts)):
        if verdicts[later] is None:
            return later == at + 1
        if verdicts[later]:
            return True
    return (at + 1 == len(verdicts)) if over else None


def with_client_names(item: Any, mapping: CallMapping) -> Any:
    """An item with its call, or the tools that a search loaded, under the client's own names."""
    if not is_call(item):
        return rename_loaded_tools(item, mapping.client_name)
    name = item.get("name")
    own = mapping.client_name(name) if isinstance(name, str) else name
    return item if own == name else {**item, "name": own}


@dataclass(slots=True)
class StreamNumbers:
    """The numbers that the client's stream has reached, over all rounds."""

    sequence: int | None = None
    """The next event's; None: the upstream's first one counts."""
    output: int = 0


@dataclass(slots=True)
class _Item:
    reasoning: bool
    verdict: Verdict
    waiting: list[tuple[SseEvent, dict[str, Any]]] = field(default_factory=list)
    number: int | None = None
    over: bool = False


class RoundStream:
    """The items of one round, in the order in which the policy made them."""

    def __init__(self, mapping: CallMapping, numbers: StreamNumbers) -> None:
        self._mapping = mapping
        self._numbers = numbers
        self._items: list[_Item] = []
        self._places: dict[int, _Item] = {}
        self._front = 0
        """The index of the first item of which more may go out."""

    def feed(self, event: SseEvent, data: dict[str, Any]) -> bytes:
        """Take an event of an item; gives the events that go to the client now."""
        index, item = data["output_index"], data.get("item")
        place = self._places.get(index)
        if place is None:
            place = self._places[index] = self._open_item(item)
            self._items.append(place)
        if data["type"] == DONE:
            place.over = True
            if place.verdict is None and not place.reasoning:
                place.verdict = not is_hidden_call(item, self._mapping)
        place.waiting.append((event, data))
        return self._settle(over=False)

    def end(self) -> bytes:
        """No more items will come: gives the events that still waited."""
        return self._settle(over=True)

    def number_event(self, event: SseEvent, data: dict[str, Any]) -> bytes:
        """An event with the client's next number."""
        given, number = data.get("sequence_number"), self._numbers.sequence
        if not isinstance(given, int):
            return event.raw
        number = given if number is None else number
        self._numbers.sequence = number + 1
        if given == number:
            return event.raw
        return replace_event_data(event, encode({**data, "sequence_number": number}))

    def _open_item(self, item: Any) -> _Item:
        if is_reasoning(item):
            return _Item(reasoning=True, verdict=None if self._mapping.hides_calls else True)
        name = item.get("name") if isinstance(item, dict) else None
        waits = (
            isinstance(item, dict)
            and item.get("type") == "function_call"
            and isinstance(name, str)
            and self._mapping.needs_arguments(name)
        )
        return _Item(reasoning=False, verdict=None if waits else not is_hidden_call(item, self._mapping))

    def _settle(self, *, over: bool) -> bytes:
        """The events up to the first item whose verdict isn't known yet."""
        out: list[bytes] = []
        for at in range(self._front, len(self._items)):
            item = self._items[at]
            if item.verdict is None:
                item.verdict = self._verdict(at, over=over)
            if item.verdict is None:
                break
            if item.verdict:
                out += self._release(item)
            item.waiting.clear()
            if item.over and at == self._front:
                self._front += 1
        return b"".join(out)

    def _verdict(self, at: int, *, over: bool) -> Verdict:
        item = self._items[at]
        if not item.reasoning:
            return True if over else None
        behind = self._items[at:]
        if any(one.verdict is None and not one.reasoning for one in behind) and not over:
            known = next(n for n, one in enumerate(behind) if one.verdict is None and not one.reasoning)
            behind = behind[:known]
        return decide_reasoning([one.verdict for one in behind], 0, over=over)

    def _release(self, item: _Item) -> list[bytes]:
        if item.number is None:
            item.number, self._numbers.output = self._numbers.output, self._numbers.output + 1
        return [self._map_event(event, data, item.number) for event, data in item.waiting]

    def _map_event(self, event: SseEvent, data: dict[str, Any], number: int) -> bytes:
        mapped = data
        if number != data["output_index"]:
            mapped = {**mapped, "output_index": number}
        if data["type"] in (ADDED, DONE):
            item = with_client_names(data.get("item"), self._mapping)
            mapped = mapped if item is data.get("item") else {**mapped, "item": item}
        elif data["type"] == _MADE and isinstance(data.get("name"), str):
            name = self._mapping.client_name(data["name"])
            mapped = mapped if name == data["name"] else {**mapped, "name": name}
        raw = event if mapped is data else SseEvent(replace_event_data(event, encode(mapped)), event.data)
        return self.number_event(raw, mapped)
