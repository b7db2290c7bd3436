"""Messages in a closed world: what the client gets of an answer whose calls have to be mapped back.

A round whose calls are all inner ones is answered inside, and the next round's blocks follow those that went
out. What is delivered has one `message_start`, one id, one end, blocks numbered through and the usage summed.
Thinking goes out as it comes, signatures and all; on the next turn it is moved back to its round.
"""

from __future__ import annotations

from typing import Any

from crosswind.gateway.http.sse import SseEvent, replace_event_data
from crosswind.gateway.protocols.answer import Chunk
from crosswind.gateway.protocols.coercion import as_object
from crosswind.gateway.protocols.document import decode, encode
from crosswind.gateway.protocols.hidden_tools import CallMapping, HiddenCall
from crosswind.gateway.protocols.mapped_answer import MappedAnswer
from crosswind.gateway.protocols.messages.answer import MessagesAnswer
from crosswind.gateway.protocols.messages.block_stream import BlockStream, arguments, is_call
from crosswind.gateway.protocols.messages.tool_references import rename_references

Block = dict[str, Any]

_COUNTED = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
"""What the last event tells again of what `message_start` told: the sums over all rounds."""


class MappedMessagesAnswer(MappedAnswer[MessagesAnswer]):
    """Reads the rounds of one answer. A `MessagesAnswer` of each round records what was produced."""

    def __init__(self, mapping: CallMapping) -> None:
        super().__init__(mapping, MessagesAnswer)
        self._stream = BlockStream(mapping, self._now, 0)
        self._before: list[Block] = []
        """The blocks of earlier rounds, which the client got."""
        self._plain = False
        self._over = False
        """The round at hand is to be answered inside: nothing more of it goes out."""
        self._kept: list[bytes] = []
        """What would complete the answer, were the round not answered."""

    # The rounds

    def hidden_calls(self) -> list[HiddenCall]:
        """The calls of this round that the client doesn't see, by their place among its blocks. Where the
        policy was broken off there are none: half a call can't be put back.
        """
        if self._now.head_text("stop_reason") != "tool_use":
            return []
        return [
            HiddenCall(at, str(block.get("id", "")), str(block.get("name", "")), arguments(block), block)
            for at, block in enumerate(self._now.content_blocks())
            if self._is_inner(block)
        ]

    @property
    def unanswered(self) -> bool:
        """Whether this round has to be answered inside: it called inner tools only."""
        return bool(self.hidden_calls()) and not any(is_call(block) for block in self._own())

    def start_next_round(self) -> None:
        self._before += self._own()
        super().start_next_round()
        self._stream = BlockStream(self._mapping, self._now, self._stream.next)
        self._kept.clear()
        self._over = False

    def history_anchor(self) -> tuple[str, str | None]:
        """What the client's history will show: the id of its first call, and the text of all rounds."""
        own = self._own()
        first = next((str(block.get("id", "")) for block in own if is_call(block)), "")
        return first, _text([*self._before, *own])

    def content(self) -> str | None:
        return _text(self._own())

    def conclude(self) -> bytes:
        """The answer as it stands, with `end_turn` for its end: it has no calls for the client."""
        return (self.delivered_body() or b"") if self._plain else b"".join(self._kept)

    def delivered_body(self) -> bytes | None:
        """What the client gets, as one plain body; None where it is what was produced."""
        if not self.finished:
            return None
        content = [*self._before, *self._own()]
        if not self._earlier and content == self._now.content_blocks():
            return None
        answer = {**decode(self._now.produced_body()), **self._head, "content": content, "usage": self.usage}
        return encode(answer | ({"stop_reason": "end_turn"} if self.unanswered else {}))

    def _is_inner(self, block: Block) -> bool:
        return is_call(block) and self._mapping.is_hidden(str(block.get("name", "")), arguments(block))

    def _own(self) -> list[Block]:
        """The blocks of this round that the client gets, calls under its own names."""
        return [
            {**block, "name": self._mapping.client_name(str(block.get("name", "")))}
            if is_call(block)
            else rename_references(block, self._mapping.client_name)
            for block in self._now.content_blocks()
            if not self._is_inner(block)
        ]

    # Reading

    def read_body(self, body: bytes) -> bytes:
        self._plain = True
        self._now.read_body(body)
        self._remember()
        return self.delivered_body() or body

    def _remember(self) -> None:
        """The first round's head is the delivered answer's."""
        if not self._head and (message_id := self._now.head_text("id")) is not None:
            self._head = {"id": message_id, "model": self._now.head_text("model")}

    def read_event(self, event: SseEvent) -> Chunk:
        chunk = self._now.read_event(event)
        data = as_object(event.data) if event.data else None
        if self._over:
            self._kept.append(event.raw)
            return Chunk(b"")
        match data and data.get("type"):
            case "message_start":
                self._remember()
                return Chunk(b"") if self._earlier else chunk
            case "content_block_start" | "content_block_delta" | "content_block_stop" if data:
                return Chunk(self._stream.feed(event, data), chunk.calls_tools)
            case "message_delta" if data and self.finished:
                return self._finish_round(event, data)
        return chunk

    def _finish_round(self, event: SseEvent, data: dict[str, Any]) -> Chunk:
        """The event that completes the answer, or the round."""
        rest = self._stream.end()
        raw = event.raw
        if self._earlier:
            counted = data.get("usage")
            names = {*(counted if isinstance(counted, dict) else ()), *_COUNTED}
            data["usage"] = {name: value for name, value in self.usage.items() if name in names}
            raw = replace_event_data(event, encode(data))
        if not self.unanswered:
            return Chunk(rest + raw, completing=True)
        self._over = True
        delta = {**data["delta"], "stop_reason": "end_turn"}
        self._kept.append(replace_event_data(event, encode({**data, "delta": delta})))
        return Chunk(rest)


def _text(blocks: list[Block]) -> str:
    return "".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text")
