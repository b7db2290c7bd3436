"""Read the answers of Responses, plain or in a stream's typed events.

Only an event's type and its item's index are decoded, since the event that completes a stream brings the
whole response. If a stream was cut, the response is assembled from its events.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from crosswind.gateway.http.sse import SseEvent
from crosswind.gateway.protocols.answer import AnswerReader, Chunk
from crosswind.gateway.protocols.json_values import (
    UNREADABLE,
    as_list,
    as_mapping,
    as_object,
    as_text,
    encode,
    text_or_none,
)
from crosswind.gateway.trajectory.fitness import Fitness
from crosswind.gateway.trajectory.record import Completion

COMPLETING = frozenset({"response.completed", "response.incomplete", "response.failed"})
BEGINNING = frozenset({"response.created", "response.in_progress", "response.queued"})
_FINISHED = frozenset({"completed", "incomplete", "failed", "cancelled"})
_CALLING = ("response.function_call_arguments.", "response.custom_tool_call_input.")
_CALLS = frozenset({"function_call", "custom_tool_call"})

_NOTHING = msgspec.Raw(b"null")

_DELTAS = {
    "response.output_text.delta": ("content", "content_index", "text"),
    "response.refusal.delta": ("content", "content_index", "refusal"),
    "response.reasoning_text.delta": ("content", "content_index", "text"),
    "response.reasoning_summary_text.delta": ("summary", "summary_index", "text"),
}
"""Where a delta goes: the item's member, the part's index, the part's member."""
_PARTS = {
    "response.content_part.added": ("content", "content_index"),
    "response.content_part.done": ("content", "content_index"),
    "response.reasoning_summary_part.added": ("summary", "summary_index"),
    "response.reasoning_summary_part.done": ("summary", "summary_index"),
}
_STRINGS = {
    "response.function_call_arguments.delta": "arguments",
    "response.custom_tool_call_input.delta": "input",
    "response.mcp_call_arguments.delta": "arguments",
    "response.code_interpreter_call_code.delta": "code",
}


class _Typed(msgspec.Struct):
    type: str | None = None


class _Event(msgspec.Struct):
    type: str
    output_index: int = 0
    response: msgspec.Raw = _NOTHING
    item: msgspec.Raw = _NOTHING


_events = msgspec.json.Decoder(_Event)
_typed = msgspec.json.Decoder(_Typed)


class ResponsesAnswer(AnswerReader):
    """Reads one answer. Nothing of it is edited: engines give no tokens on this route."""

    prompt_ids: list[int] | None = None

    def __init__(self, on_answer: Callable[[Mapping[str, Any], str | None], None] | None = None) -> None:
        self._on_answer = on_answer
        self._raw: bytes | None = None
        self._response: dict[str, Any] = {}
        self._items: dict[int, msgspec.Raw] = {}
        self._growing: dict[int, list[bytes]] = {}
        self._broken: dict[str, Any] | None = None

    def read_body(self, body: bytes) -> bytes:
        self._raw = body
        self._response = as_object(body) or {}
        self._tell()
        return body

    def read_event(self, event: SseEvent) -> Chunk:
        try:
            seen = _events.decode(event.data)
        except UNREADABLE:
            return Chunk(event.raw)
        if seen.type in COMPLETING:
            self._complete(bytes(seen.response))
            return Chunk(event.raw, completing=True, ended=True)
        calls = seen.type.startswith(_CALLING)
        if seen.type in BEGINNING:
            self._response = as_object(bytes(seen.response)) or {}
        elif seen.type == "error":
            self._broken = _error(as_object(event.data) or {})
        elif seen.type == "response.output_item.done":
            self._items[seen.output_index] = msgspec.Raw(bytes(seen.item))
            self._growing.pop(seen.output_index, None)
            calls = _is_call(seen.item)
        else:
            calls |= seen.type == "response.output_item.added" and _is_call(seen.item)
            self._growing.setdefault(seen.output_index, []).append(event.data)
        return Chunk(event.raw, calls)

    def _complete(self, raw: bytes) -> None:
        if response := as_object(raw):
            self._raw, self._response = raw, response
            self._tell()

    def _tell(self) -> None:
        """Let later requests continue this response."""
        if self._on_answer is not None:
            self._on_answer(self._response, None)

    @property
    def usage(self) -> dict[str, Any]:
        return as_mapping(self._response.get("usage"))

    @property
    def error(self) -> dict[str, Any] | None:
        return self._broken or as_mapping(self._response.get("error")) or None

    @property
    def finished(self) -> bool:
        return self.head_text("status") in _FINISHED

    def produced_body(self) -> bytes:
        if self._raw is not None:
            return self._raw
        if not self._response:
            return encode({"error": self._broken} if self._broken else {})
        items: dict[int, Any] = dict(self._items)
        for index, events in self._growing.items():
            if (item := assemble_item(events)) is not None:
                items[index] = item
        return encode(self._response | {"output": [item for _, item in sorted(items.items())]})

    def output(self) -> list[Any]:
        """The items of a complete response."""
        return as_list(self._response.get("output"))

    def head_text(self, name: str) -> str | None:
        return text_or_none(self._response.get(name))

    def completions(self) -> tuple[Completion, ...]:
        """The response, without tokens. Its finish reason is its status, or why it is incomplete."""
        if not self._response.get("status"):
            return ()
        reason = as_mapping(self._response.get("incomplete_details")).get("reason")
        return (Completion(0, finish_reason=text_or_none(reason) or self.head_text("status")),)

    def _check_sampled(self) -> Fitness:
        aborted = self._response["status"] in ("failed", "cancelled")
        return Fitness.ABORTED if aborted else super()._check_sampled()


def _is_call(item: msgspec.Raw) -> bool:
    try:
        return _typed.decode(item).type in _CALLS
    except UNREADABLE:
        return False


def _error(event: dict[str, Any]) -> dict[str, Any]:
    """The error in an event, which some servers wrap as a plain answer's error."""
    return as_mapping(event.get("error")) or {name: event.get(name) for name in ("code", "message", "param")}


def assemble_item(events: Sequence[bytes]) -> dict[str, Any] | None:
    """The item that these events make; None if none of them began one. Never raises."""
    item: dict[str, Any] | None = None
    for raw in events:
        event = as_object(raw)
        if event is None:
            continue
        kind = event["type"]
        if kind == "response.output_item.added":
            item = event.get("item") if isinstance(event.get("item"), dict) else item
        elif item is not None:
            _grow(item, kind, event)
    return item


def _grow(item: dict[str, Any], kind: str, event: dict[str, Any]) -> None:
    delta = event.get("delta")
    if kind in _PARTS:
        member, index = _PARTS[kind]
        if isinstance(event.get("part"), dict):
            _part(item, member, event.get(index)).update(event["part"])
    elif kind in _DELTAS and isinstance(delta, str):
        member, index, name = _DELTAS[kind]
        part = _part(item, member, event.get(index))
        part[name] = as_text(part, name) + delta
    elif kind in _STRINGS and isinstance(delta, str):
        item[_STRINGS[kind]] = as_text(item, _STRINGS[kind]) + delta


def _part(item: dict[str, Any], member: str, index: Any) -> dict[str, Any]:
    """The part of this index. Parts come in order, so one beyond the last is the next."""
    parts = item.get(member)
    if not isinstance(parts, list):
        parts = item[member] = []
    if isinstance(index, int) and 0 <= index < len(parts) and isinstance(parts[index], dict):
        found: dict[str, Any] = parts[index]
        return found
    parts.append({})
    last: dict[str, Any] = parts[-1]
    return last
