"""Messages: the client's answer where calls have to be mapped back.

A round that calls hidden tools only is answered inside the gateway, and the next round's blocks follow those
that went out. The client gets one `message_start`, one id, one end, blocks numbered through, and the sum of
the usages. Thinking goes out unchanged, with its signatures; on the next turn it is moved back to its round.
"""

from __future__ import annotations

from typing import Any

from crosswind.gateway.http.sse import SseEvent, replace_event_data
from crosswind.gateway.protocols.answer import Chunk
from crosswind.gateway.protocols.hidden_tools import CallMapping, HiddenCall
from crosswind.gateway.protocols.json_values import as_mapping, as_object, as_text, decode, encode
from crosswind.gateway.protocols.mapped_answer import MappedAnswer
from crosswind.gateway.protocols.messages.answer import MessagesAnswer
from crosswind.gateway.protocols.messages.mapped_stream import BlockStream, arguments, is_call
from crosswind.gateway.protocols.messages.tool_references import rename_references

Block = dict[str, Any]

_COUNTED = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
"""The counts of `message_start` that the last event repeats, as sums over all rounds."""


class MappedMessagesAnswer(MappedAnswer[MessagesAnswer]):
    """Reads the rounds of one answer."""

    head_members = ("id", "model")

    def __init__(self, mapping: CallMapping) -> None:
        super().__init__(mapping, MessagesAnswer)
        self._stream = BlockStream(mapping, self._now, 0)
        self._before: list[Block] = []
        """The earlier rounds' blocks, as the client got them."""
        self._plain = False

    # The rounds

    def hidden_calls(self) -> list[HiddenCall]:
        # An answer that was broken off hides none: half a call can't be reinserted.
        if self._now.head_text("stop_reason") != "tool_use":
            return []
        return [
            HiddenCall(at, as_text(block, "id"), as_text(block, "name"), arguments(block), block)
            for at, block in enumerate(self._now.content_blocks())
            if self._is_hidden(block)
        ]

    @property
    def unanswered(self) -> bool:
        return bool(self.hidden_calls()) and not any(is_call(block) for block in self._own())

    def start_next_round(self) -> None:
        self._before += self._own()
        super().start_next_round()
        self._stream = BlockStream(self._mapping, self._now, self._stream.next)

    def history_anchor(self) -> tuple[str, str | None]:
        own = self._own()
        first = next((as_text(block, "id") for block in own if is_call(block)), "")
        return first, _text([*self._before, *own])

    def content(self) -> str | None:
        return _text(self._own())

    def conclude(self) -> bytes:
        # The kept events say `end_turn`: the client gets no calls.
        return (self.delivered_body() or b"") if self._plain else b"".join(self._kept)

    def delivered_body(self) -> bytes | None:
        if not self.finished:
            return None
        content = [*self._before, *self._own()]
        if not self._earlier and content == self._now.content_blocks():
            return None
        answer = {**decode(self._now.produced_body()), **self._head, "content": content, "usage": self.usage}
        return encode(answer | ({"stop_reason": "end_turn"} if self.unanswered else {}))

    def _is_hidden(self, block: Block) -> bool:
        return is_call(block) and self._mapping.is_hidden(as_text(block, "name"), arguments(block))

    def _own(self) -> list[Block]:
        """The client's blocks of this round, its calls under its own names."""
        return [
            {**block, "name": self._mapping.client_name(as_text(block, "name"))}
            if is_call(block)
            else rename_references(block, self._mapping.client_name)
            for block in self._now.content_blocks()
            if not self._is_hidden(block)
        ]

    # Reading

    def read_body(self, body: bytes) -> bytes:
        self._plain = True
        self._now.read_body(body)
        self._remember_head(as_object(body) or {})
        return self.delivered_body() or body

    def read_event(self, event: SseEvent) -> Chunk:
        chunk = self._now.read_event(event)
        data = as_object(event.data) if event.data else None
        if self._over:
            self._kept.append(event.raw)
            return Chunk(b"")
        match data and data.get("type"):
            case "message_start" if data:
                self._remember_head(as_mapping(data.get("message")))
                return Chunk(b"") if self._earlier else chunk
            case "content_block_start" | "content_block_delta" | "content_block_stop" if data:
                return Chunk(self._stream.feed(event, data), chunk.calls_tools)
            case "message_delta" if data and self.finished:
                return self._finish_round(event, data)
        return chunk

    def _finish_round(self, event: SseEvent, data: dict[str, Any]) -> Chunk:
        """The event that completes the answer, or this round only."""
        rest = self._stream.end()
        raw = event.raw
        if self._earlier:
            names = {*as_mapping(data.get("usage")), *_COUNTED}
            data["usage"] = {name: value for name, value in self.usage.items() if name in names}
            raw = replace_event_data(event, encode(data))
        if not self.unanswered:
            return Chunk(rest + raw, completing=True)
        self._over = True
        delta = {**data["delta"], "stop_reason": "end_turn"}
        self._kept.append(replace_event_data(event, encode({**data, "delta": delta})))
        return Chunk(rest)


def _text(blocks: list[Block]) -> str:
    return "".join(as_text(block, "text") for block in blocks if block.get("type") == "text")
