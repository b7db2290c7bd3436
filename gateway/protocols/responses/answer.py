"""Responses: what the policy answered, read from a plain body or from a stream's typed events.

Of an event only its type and its items' places are decoded: the event that completes a stream brings the
whole response. Only of a stream that was cut the response is put together from the events.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from crosswind.gateway.http.sse import SseEvent
from crosswind.gateway.protocols.answer import Chunk, SingleRoundReader
from crosswind.gateway.protocols.coercion import as_mapping, as_object
from crosswind.gateway.protocols.document import UNREADABLE, encode
from crosswind.gateway.protocols.responses.partial_items import assemble_item
from crosswind.gateway.trajectory.fitness import Fitness
from crosswind.gateway.trajectory.record import Completion

COMPLETING = frozenset({"response.completed", "response.incomplete", "response.failed"})
BEGINNING = frozenset({"response.created", "response.in_progress", "response.queued"})
_FINISHED = frozenset({"completed", "incomplete", "failed", "cancelled"})
_CALLING = ("response.function_call_arguments.", "response.custom_tool_call_input.")
_CALLS = frozenset({"function_call", "custom_tool_call"})

_NOTHING = msgspec.Raw(b"null")


class _Typed(msgspec.Struct):
    type: str | None = None


class _Event(msgspec.Struct):
    type: str
    output_index: int = 0
    response: msgspec.Raw = _NOTHING
    item: msgspec.Raw = _NOTHING


_events = msgspec.json.Decoder(_Event)
_typed = msgspec.json.Decoder(_Typed)


class ResponsesAnswer(SingleRoundReader):
    """Collects one answer. Nothing of it is edited: engines give no tokens on this route."""

    prompt_ids: list[int] | None = None

    def __init__(self, answered: Callable[[Mapping[str, Any], str | None], None] | None = None) -> None:
        self._answered = answered
        self._raw: bytes | None = None
        self._response: dict[str, Any] = {}
        self._items: dict[int, msgspec.Raw] = {}
        self._growing: dict[int, list[bytes]] = {}
        self._broken: dict[str, Any] | None = None

    def read_body(self, body: bytes) -> bytes:
        """Read a plain answer; gives it back as it is."""
        self._raw = body
        self._response = as_object(body) or {}
        self._tell()
        return body

    def read_event(self, event: SseEvent) -> Chunk:
        """Read one event of a streamed answer."""
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
        """Let later requests go on from this response."""
        if self._answered is not None:
            self._answered(self._response, None)

    @property
    def usage(self) -> dict[str, Any]:
        """The usage as the upstream reported it."""
        return as_mapping(self._response.get("usage"))

    @property
    def error(self) -> dict[str, Any] | None:
        """Why the response failed, or the stream broke off."""
        return self._broken or as_mapping(self._response.get("error")) or None

    @property
    def finished(self) -> bool:
        """Whether the response came to its end."""
        return self.head_text("status") in _FINISHED

    def produced_body(self) -> bytes:
        """The response: as it came, or what a stream's events amount to."""
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
        """The items of a response that came whole."""
        output = self._response.get("output")
        return output if isinstance(output, list) else []

    def head_text(self, name: str) -> str | None:
        """A text member of the response: `id`, `model`."""
        value = self._response.get(name)
        return value if isinstance(value, str) else None

    def completions(self) -> tuple[Completion, ...]:
        """The response, whose tokens nobody tells. It finished by its status, or what made it incomplete."""
        if not self._response.get("status"):
            return ()
        reason = as_mapping(self._response.get("incomplete_details")).get("reason")
        return (Completion(0, finish_reason=reason if isinstance(reason, str) else self.head_text("status")),)

    def fitness(self) -> Fitness:
        """Why this answer can't be trained on: it never can."""
        if self.error is not None:
            return Fitness.UPSTREAM_ERROR
        if not self.finished:
            return Fitness.FINISH_NOT_SEEN
        return (
            Fitness.ABORTED
            if self._response["status"] in ("failed", "cancelled")
            else Fitness.ENGINE_NO_TOKENS
        )


def _is_call(item: msgspec.Raw) -> bool:
    try:
        return _typed.decode(item).type in _CALLS
    except UNREADABLE:
        return False


def _error(event: dict[str, Any]) -> dict[str, Any]:
    """What an error event says, which some servers wrap as a plain answer's error."""
    return as_mapping(event.get("error")) or {name: event.get(name) for name in ("code", "message", "param")}
