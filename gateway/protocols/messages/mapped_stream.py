"""Messages: map the calls of a streamed answer to the client's names, and keep hidden ones from it.

Calls wait only if their arguments decide whether they are hidden. The client's blocks are numbered without a
gap.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from crosswind.gateway.http.sse import SseEvent, replace_event_data
from crosswind.gateway.protocols.hidden_tools import CallMapping
from crosswind.gateway.protocols.json_values import as_text, encode, encode_text
from crosswind.gateway.protocols.messages.answer import MessagesAnswer
from crosswind.gateway.protocols.messages.tool_references import rename_references

Data = dict[str, Any]


@dataclass(slots=True)
class _Streamed:
    """A block as it streams."""

    index: int | None = None
    """Its number for the client, if it goes there."""
    waits: bool = False
    held: list[tuple[SseEvent, Data]] = field(default_factory=list)
    """Its events while it waits."""


class BlockStream:
    """The blocks of one round. `answer` reads each event first; `next` is the client's next block number."""

    def __init__(self, mapping: CallMapping, answer: MessagesAnswer, first: int) -> None:
        self.next = first
        self._mapping = mapping
        self._answer = answer
        self._blocks: dict[int, _Streamed] = {}

    def feed(self, event: SseEvent, data: Data) -> bytes:
        """Take an event of a block; gives the events that go to the client now."""
        number = data.get("index")
        if not isinstance(number, int):
            return event.raw
        block = self._blocks.get(number)
        if data["type"] == "content_block_start":
            block = self._blocks[number] = self._start_block(data)
        if block is None:
            return event.raw
        if block.waits:
            block.held.append((event, data))
            return self._settle(number, block) if data["type"] == "content_block_stop" else b""
        return b"" if block.index is None else self._map_event(event, data, block.index)

    def end(self) -> bytes:
        """No more events will come: gives those that still waited."""
        return b"".join(self._settle(number, block) for number, block in self._blocks.items() if block.waits)

    def _start_block(self, data: Data) -> _Streamed:
        started = data.get("content_block")
        if isinstance(started, dict) and is_call(started):
            name = as_text(started, "name")
            if self._mapping.needs_arguments(name):
                return _Streamed(waits=True)
            if self._mapping.is_hidden(name, "{}"):
                return _Streamed()
        return _Streamed(self._number())

    def _number(self) -> int:
        number, self.next = self.next, self.next + 1
        return number

    def _settle(self, number: int, block: _Streamed) -> bytes:
        """Decide about a call that is now complete."""
        call, held = self._answer.block(number), block.held
        block.waits, block.held = False, []
        if self._mapping.is_hidden(as_text(call, "name"), arguments(call)):
            return b""
        block.index = self._number()
        return b"".join(self._map_event(event, data, block.index) for event, data in held)

    def _map_event(self, event: SseEvent, data: Data, index: int) -> bytes:
        """An event with the client's number and name: its own bytes if these are the same."""
        mapped = {**data, "index": index}
        started = data.get("content_block")
        if isinstance(started, dict) and is_call(started):
            name = self._mapping.client_name(as_text(started, "name"))
            mapped["content_block"] = {**started, "name": name}
        elif isinstance(started, dict):
            mapped["content_block"] = rename_references(started, self._mapping.client_name)
        return event.raw if mapped == data else replace_event_data(event, encode(mapped))


def is_call(block: Mapping[str, Any]) -> bool:
    """Whether a block is a call of one of the client's tools."""
    return block.get("type") == "tool_use"


def arguments(block: Mapping[str, Any]) -> str:
    """A call's arguments as JSON text, which is incomplete if the call was broken off."""
    value = block.get("input", {})
    return value if isinstance(value, str) else encode_text(value)
