"""Read the answers of Messages, plain or in a stream's events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from crosswind.gateway.http.sse import SseEvent
from crosswind.gateway.protocols.answer import UNREAD, AnswerReader, Chunk, Passage
from crosswind.gateway.protocols.json_values import (
    as_list,
    as_mapping,
    as_mappings,
    as_object,
    as_text,
    decode,
    encode,
    text_or_none,
)
from crosswind.gateway.protocols.messages.text_deltas import DeferredEvents, count_deferrable, read_deltas
from crosswind.gateway.trajectory.record import Completion

_GROWING = {"text_delta": "text", "thinking_delta": "thinking"}
_CALLS = frozenset({"tool_use", "input_json_delta"})


@dataclass(slots=True)
class Block:
    """A content block so far. `input` is the JSON text of a call's arguments, in pieces."""

    members: dict[str, Any] = field(default_factory=dict)
    input: list[str] = field(default_factory=list)
    said: dict[str, list[str]] = field(default_factory=dict)
    """Growing members, in pieces."""

    def grow(self, delta: Mapping[str, Any]) -> None:
        """Take in one delta."""
        kind = delta.get("type")
        if kind == "input_json_delta":
            self.input.append(as_text(delta, "partial_json"))
        elif isinstance(kind, str) and kind in _GROWING:
            name = _GROWING[kind]
            pieces = self.said.get(name)
            if pieces is None:
                pieces = self.said[name] = [as_text(self.members, name)]
            pieces.append(as_text(delta, name))
        elif kind == "citations_delta":
            self.members["citations"] = [*as_list(self.members.get("citations")), delta.get("citation")]
        else:
            self.members = self._join_pieces() | {
                name: value for name, value in delta.items() if name != "type"
            }
            self.said.clear()

    def whole(self) -> dict[str, Any]:
        """The block as a plain answer has it. Arguments that are no JSON are kept as text."""
        members, given = self._join_pieces(), "".join(self.input)
        if not given:
            return members
        try:
            return {**members, "input": decode(given.encode("utf-8", "surrogatepass"))}
        except ValueError:
            return {**members, "input": given}

    def _join_pieces(self) -> dict[str, Any]:
        return self.members | {name: "".join(pieces) for name, pieces in self.said.items()}


class MessagesAnswer(AnswerReader):
    """Reads one answer. Nothing of it is edited: engines give no tokens on this route."""

    prompt_ids: list[int] | None = None
    usage: Mapping[str, Any] = {}
    error: Mapping[str, Any] | None = None

    def __init__(self) -> None:
        self._head: dict[str, Any] = {}
        self._blocks: dict[int, Block] = {}
        self._plain: bytes | None = None
        self._deferred = DeferredEvents()

    def read_body(self, body: bytes) -> bytes:
        self._plain = body
        answer = as_object(body)
        if answer is not None and not self._take_error(answer):
            self._take_head(answer)
        return body

    def read_events(self, events: bytes) -> Passage:
        if not (taken := count_deferrable(events)):
            return UNREAD
        if self._deferred.take(events[:taken]):
            self._catch_up()
        return Passage(taken)

    def _catch_up(self) -> None:
        """Read the deferred events."""
        if self._deferred:
            for index, delta in read_deltas(self._deferred.take_all()):
                self._blocks.setdefault(index, Block()).grow(delta)

    def read_event(self, event: SseEvent) -> Chunk:
        self._catch_up()
        data = as_object(event.data) if event.data else None
        if data is None:
            return Chunk(event.raw)
        match data.get("type"):
            case "message_start":
                self._take_head(as_mapping(data.get("message")))
            case "content_block_start":
                block = as_mapping(data.get("content_block"))
                self._blocks[_index(data)] = Block(dict(block))
                return Chunk(event.raw, calls_tools=as_text(block, "type") in _CALLS)
            case "content_block_delta":
                delta = as_mapping(data.get("delta"))
                self._blocks.setdefault(_index(data), Block()).grow(delta)
                return Chunk(event.raw, calls_tools=as_text(delta, "type") in _CALLS)
            case "message_delta":
                self._take_usage(data)
                self._head |= as_mapping(data.get("delta"))
                return Chunk(event.raw, completing=self.finished)
            case "message_stop":
                return Chunk(event.raw, completing=True, ended=True)
            case "error":
                self._take_error(data)
        return Chunk(event.raw)

    def _take_error(self, answer: Mapping[str, Any]) -> bool:
        """Take in an error; True if there is one."""
        if answer.get("type") == "error":
            self.error = dict(as_mapping(answer.get("error")))
        return self.error is not None

    def _take_head(self, message: Mapping[str, Any]) -> None:
        self._take_usage(message)
        self._head |= message

    def _take_usage(self, holder: Mapping[str, Any]) -> None:
        """A message_delta's counts are totals: they replace those of message_start."""
        usage = as_mapping(holder.get("usage"))
        self.usage = {**self.usage, **{name: value for name, value in usage.items() if value is not None}}

    @property
    def finished(self) -> bool:
        """Whether the reason why the answer stopped is known."""
        return isinstance(self._head.get("stop_reason"), str)

    def produced_body(self) -> bytes:
        if self._plain is not None:
            return self._plain
        if not self._head:
            return encode({"type": "error", "error": self.error} if self.error else {})
        return encode(self._head | {"content": self.content_blocks(), "usage": self.usage})

    def content_blocks(self) -> list[dict[str, Any]]:
        """The content's blocks in order, as complete as they came."""
        self._catch_up()
        if self._plain is None:
            return [block.whole() for _, block in sorted(self._blocks.items())]
        return as_mappings(self._head.get("content"))

    def block(self, index: int) -> dict[str, Any]:
        """One block of a stream."""
        self._catch_up()
        block = self._blocks.get(index)
        return {} if block is None else block.whole()

    def head_text(self, name: str) -> str | None:
        return text_or_none(self._head.get(name))

    def completions(self) -> tuple[Completion, ...]:
        """The message, without tokens."""
        return (Completion(0, finish_reason=self.head_text("stop_reason")),) if self._head else ()


def _index(data: Mapping[str, Any]) -> int:
    index = data.get("index")
    return index if isinstance(index, int) else 0
