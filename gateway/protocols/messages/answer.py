"""Messages: what the policy answered, read from a plain body or from a stream's events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from crosswind.gateway.http.sse import SseEvent
from crosswind.gateway.protocols.answer import Chunk, SingleRoundReader
from crosswind.gateway.protocols.coercion import as_mapping, as_object, as_text
from crosswind.gateway.protocols.deferred_chunks import DeferredEvents
from crosswind.gateway.protocols.document import decode, encode
from crosswind.gateway.protocols.messages.text_deltas import count_deferrable, read_deltas
from crosswind.gateway.trajectory.fitness import Fitness
from crosswind.gateway.trajectory.record import Completion

_GROWING = {"text_delta": "text", "thinking_delta": "thinking"}
_CALLS = frozenset({"tool_use", "input_json_delta"})


@dataclass(slots=True)
class Block:
    """A content block as it has come so far. `input` is the JSON text of a call's arguments."""

    members: dict[str, Any] = field(default_factory=dict)
    input: list[str] = field(default_factory=list)
    said: dict[str, list[str]] = field(default_factory=dict)
    """Members that grow, in the pieces that came."""

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
            known = self.members.get("citations")
            self.members["citations"] = [*(known if isinstance(known, list) else []), delta.get("citation")]
        else:
            self.members = self._grown() | {name: value for name, value in delta.items() if name != "type"}
            self.said.clear()

    def whole(self) -> dict[str, Any]:
        """The block as a plain answer has it. Arguments that are no JSON are kept as their text."""
        members, given = self._grown(), "".join(self.input)
        if not given:
            return members
        try:
            return {**members, "input": decode(given.encode("utf-8", "surrogatepass"))}
        except ValueError:
            return {**members, "input": given}

    def _grown(self) -> dict[str, Any]:
        return self.members | {name: "".join(pieces) for name, pieces in self.said.items()}


class MessagesAnswer(SingleRoundReader):
    """Collects one answer. Nothing of it is edited: engines give no tokens on this route."""

    prompt_ids: list[int] | None = None

    def __init__(self) -> None:
        self._head: dict[str, Any] = {}
        self._blocks: dict[int, Block] = {}
        self._plain: bytes | None = None
        self._deferred = DeferredEvents()
        self.usage: dict[str, Any] = {}
        self.error: dict[str, Any] | None = None

    def read_body(self, body: bytes) -> bytes:
        """Read a plain answer; gives it back as it is."""
        self._plain = body
        answer = as_object(body)
        if answer is not None and not self._failed(answer):
            self._take_head(answer)
        return body

    def defer(self, events: bytes) -> int:
        taken = count_deferrable(events)
        if taken and self._deferred.take(events[:taken]):
            self._catch_up()
        return taken

    def _catch_up(self) -> None:
        """Read what was deferred."""
        if self._deferred:
            for index, delta in read_deltas(self._deferred.events()):
                self._blocks.setdefault(index, Block()).grow(delta)

    def read_event(self, event: SseEvent) -> Chunk:
        """Read one event of a streamed answer."""
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
                self._failed(data)
        return Chunk(event.raw)

    def _failed(self, answer: Mapping[str, Any]) -> bool:
        """Take in an error; whether it is one."""
        if answer.get("type") == "error":
            self.error = dict(as_mapping(answer.get("error")))
        return self.error is not None

    def _take_head(self, message: Mapping[str, Any]) -> None:
        self._take_usage(message)
        self._head |= message

    def _take_usage(self, holder: Mapping[str, Any]) -> None:
        """A message_delta's counts are totals: they take the place of message_start's, where it has them."""
        usage = as_mapping(holder.get("usage"))
        self.usage |= {name: value for name, value in usage.items() if value is not None}

    @property
    def finished(self) -> bool:
        """Whether it is known why the answer stopped."""
        return isinstance(self._head.get("stop_reason"), str)

    def produced_body(self) -> bytes:
        """The answer as one plain body: what came, or what a stream's events amount to."""
        if self._plain is not None:
            return self._plain
        if not self._head:
            return encode({"type": "error", "error": self.error} if self.error else {})
        return encode(self._head | {"content": self.content_blocks(), "usage": self.usage})

    def content_blocks(self) -> list[dict[str, Any]]:
        """The content's blocks in order, each as whole as it came."""
        self._catch_up()
        if self._plain is None:
            return [block.whole() for _, block in sorted(self._blocks.items())]
        content = self._head.get("content")
        return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []

    def block(self, index: int) -> dict[str, Any]:
        """One block of a stream."""
        self._catch_up()
        block = self._blocks.get(index)
        return {} if block is None else block.whole()

    def head_text(self, name: str) -> str | None:
        """A text member of the message: `id`, `model`."""
        value = self._head.get(name)
        return value if isinstance(value, str) else None

    def completions(self) -> tuple[Completion, ...]:
        """The message, whose tokens nobody tells."""
        return (Completion(0, finish_reason=self.head_text("stop_reason")),) if self._head else ()

    def fitness(self) -> Fitness:
        """Why this answer can't be trained on: it never can."""
        if self.error is not None:
            return Fitness.UPSTREAM_ERROR
        return Fitness.ENGINE_NO_TOKENS if self.finished else Fitness.FINISH_NOT_SEEN


def _index(data: Mapping[str, Any]) -> int:
    index = data.get("index")
    return index if isinstance(index, int) else 0
