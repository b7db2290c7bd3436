"""Chat Completions: the client's answer where calls have to be mapped back.

A round that calls hidden tools only is answered inside the gateway, and the next round's answer continues its
text. The client gets the rounds joined: one role, one id, one finish reason, and the sum of the usages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from crosswind.gateway.http.sse import DONE, SseEvent, read_event_data, replace_event_data
from crosswind.gateway.protocols.answer import UNREAD, Chunk, Passage
from crosswind.gateway.protocols.chat.answer import ChatAnswer
from crosswind.gateway.protocols.chat.mapped_stream import CallStream
from crosswind.gateway.protocols.hidden_tools import CallMapping, HiddenCall
from crosswind.gateway.protocols.json_values import as_mapping, as_mappings, as_object, encode
from crosswind.gateway.protocols.mapped_answer import MappedAnswer


class MappedChatAnswer(MappedAnswer[ChatAnswer]):
    """Reads the rounds of one answer."""

    head_members = ("id", "created", "model")

    def __init__(self, mapping: CallMapping, make: Callable[[], ChatAnswer]) -> None:
        super().__init__(mapping, make)
        self._choices: dict[int, CallStream] = {}
        self._delivered: bytes | None = None

    # The rounds

    def hidden_calls(self) -> list[HiddenCall]:
        return [call for stream in self._choices.values() for call in stream.hidden_calls()]

    @property
    def unanswered(self) -> bool:
        calls = list(self._choices.values())
        return len(calls) == 1 and not calls[0].delivered and bool(calls[0].hidden_calls())

    def start_next_round(self) -> None:
        super().start_next_round()
        self._choices.clear()

    def history_anchor(self) -> tuple[str, str | None]:
        stream = self._choices.get(0)
        texts = [*(one.content for one in self._earlier), self._now.content()]
        return stream.first_id if stream else "", "".join(text or "" for text in texts)

    def conclude(self) -> bytes:
        # The kept events say `stop`: the client gets no calls.
        return b"".join(self._kept)

    def content(self) -> str | None:
        return self._now.content()

    def delivered_body(self) -> bytes | None:
        if self._delivered is not None:
            return self._delivered
        whole = as_object(self._now.produced_body())
        if whole is None or not self._now.finished:
            return None
        changed = self._map_choices(as_mappings(whole.get("choices")))
        return self._join_rounds(whole) if changed else None

    # Reading

    def read_body(self, body: bytes) -> bytes:
        stripped = self._now.read_body(body)
        answer = as_object(stripped)
        choices = as_mappings(answer.get("choices")) if answer is not None else []
        if answer is None or not choices:
            return stripped
        if not self._map_choices(choices):
            self._remember_head(answer)
            return stripped
        self._delivered = self._join_rounds(answer)
        if self.unanswered:
            for choice in choices:
                choice["finish_reason"] = "stop"
            self._kept.append(encode(answer))
        return self._delivered

    def _map_choices(self, choices: list[dict[str, Any]]) -> bool:
        """Map the calls of all plain choices; True if the client's answer isn't the one produced."""
        return any([bool(self._earlier), *map(self._map_calls, choices)])

    def _map_calls(self, choice: dict[str, Any]) -> bool:
        """Map a plain choice's calls; True if that changed it."""
        index, message = choice.get("index"), choice.get("message")
        calls = message.get("tool_calls") if isinstance(message, dict) else None
        if not isinstance(message, dict) or not isinstance(calls, list):
            return False
        stream = self._choices[index if isinstance(index, int) else 0] = CallStream(self._mapping)
        given = as_mappings(calls)
        out = [*stream.feed([{**call, "index": at} for at, call in enumerate(given)]), *stream.end()]
        if not any("index" in call for call in given):
            for call in out:
                del call["index"]
        if out == given:
            return False
        if out:
            message["tool_calls"] = out
        else:
            del message["tool_calls"]
        return True

    def _join_rounds(self, answer: dict[str, Any]) -> bytes:
        """The rounds as one body, made from the last one's."""
        self._remember_head(answer)
        before = "".join(one.content or "" for one in self._earlier)
        for choice in as_mappings(answer.get("choices")):
            message = choice.get("message")
            if before and isinstance(message, dict):
                message["content"] = before + (message.get("content") or "")
        answer |= self._head
        if usage := self.usage:
            answer["usage"] = usage
        return encode(answer)

    def read_events(self, events: bytes) -> Passage:
        # In the first round, once its head is known, nothing but calls is mapped.
        first = self._head and not (self._earlier or self._over or self._choices)
        return self._now.read_events(events) if first else UNREAD

    def read_event(self, event: SseEvent) -> Chunk:
        chunk = self._now.read_event(event)
        answer = None if event.data == DONE else as_object(read_event_data(chunk.raw))
        changed = answer is not None and self._join_chunk(answer)
        if self._over:
            # The usage comes behind the finish: of a later round it counts for all, too.
            self._kept.append(replace_event_data(event, encode(answer)) if changed else chunk.raw)
            return Chunk(b"")
        if answer is None:
            return chunk
        for choice in as_mappings(answer.get("choices")):
            changed |= self._map_deltas(choice)
        if self._now.finished and self.unanswered:
            self._over = True
            return Chunk(self._withhold_finish(event, answer))
        raw = chunk.raw
        if changed:
            raw = b"" if _says_nothing(answer) else replace_event_data(event, encode(answer))
        return Chunk(raw, chunk.calls_tools, chunk.completing)

    def _join_chunk(self, answer: dict[str, Any]) -> bool:
        """Make a later round's chunk one of the first round's stream; True if that changed it."""
        self._remember_head(answer)
        if not self._earlier or "error" in answer:
            return False
        answer |= self._head
        if isinstance(answer.get("usage"), dict):
            answer["usage"] = self.usage
        for choice in as_mappings(answer.get("choices")):
            as_mapping(choice.get("delta")).pop("role", None)
        return True

    def _map_deltas(self, choice: dict[str, Any]) -> bool:
        """Map a chunk's deltas of calls; True if that changed it."""
        index, delta = choice.get("index"), choice.get("delta")
        number = index if isinstance(index, int) else 0
        stream = self._choices.get(number)
        calls = delta.get("tool_calls") if isinstance(delta, dict) else None
        out: list[dict[str, Any]] = []
        if isinstance(calls, list):
            stream = stream or self._choices.setdefault(number, CallStream(self._mapping))
            out = stream.feed(calls)
        if choice.get("finish_reason") and stream is not None:
            out += stream.end()
        if out == (calls or []) or not isinstance(delta, dict):
            return False
        if out:
            delta["tool_calls"] = out
        else:
            delta.pop("tool_calls", None)
        return True

    def _withhold_finish(self, event: SseEvent, answer: dict[str, Any]) -> bytes:
        """The finishing chunk of a round that may continue, without its finish, which is kept."""
        choices = as_mappings(answer.get("choices"))
        end = [{**choice, "delta": {}, "finish_reason": "stop"} for choice in choices]
        self._kept.append(replace_event_data(event, encode({**answer, "choices": end})))
        for choice in choices:
            choice["finish_reason"] = None
        answer.pop("usage", None)
        return b"" if _says_nothing(answer) else replace_event_data(event, encode(answer))


def _says_nothing(answer: Mapping[str, Any]) -> bool:
    """Whether nothing in a chunk is left for the client."""
    choices = as_mappings(answer.get("choices"))
    if answer.get("usage") or not choices:
        return False
    return all(
        not choice.get("finish_reason")
        and not (any(delta.values()) if isinstance(delta := choice.get("delta"), dict) else delta)
        for choice in choices
    )
