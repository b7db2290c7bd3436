"""Responses in a closed world: what the client gets of an answer whose calls have to be mapped back.

A round whose calls are all inner ones is answered inside, and the next round goes on where its items ended.
What is delivered is one response: the first round's id, the items of all rounds, the usage summed. The
response tells the request's settings back: they are the client's, not those that the policy saw.
"""

from __future__ import annotations

from typing import Any

from crosswind.gateway.http.sse import SseEvent, replace_event_data
from crosswind.gateway.protocols.answer import Chunk
from crosswind.gateway.protocols.coercion import as_mapping, as_object, as_text
from crosswind.gateway.protocols.document import encode
from crosswind.gateway.protocols.hidden_tools import CallMapping, HiddenCall
from crosswind.gateway.protocols.mapped_answer import MappedAnswer
from crosswind.gateway.protocols.request import Request
from crosswind.gateway.protocols.responses.answer import BEGINNING, COMPLETING, ResponsesAnswer
from crosswind.gateway.protocols.responses.round_stream import (
    RoundStream,
    StreamNumbers,
    is_hidden_call,
    select_client_items,
    with_client_names,
)
from crosswind.gateway.protocols.tools import map_tool_choice

_ACTED_ON = frozenset(
    {
        "function_call",
        "custom_tool_call",
        "computer_call",
        "local_shell_call",
        "shell_call",
        "apply_patch_call",
        "mcp_approval_request",
    }
)
"""The items that a client answers."""
_TOLD_BACK = {"description": None, "parameters": None, "strict": True}
"""What providers add to a function when they tell it back, where the client left it out."""


class MappedResponsesAnswer(MappedAnswer[ResponsesAnswer]):
    """Reads the rounds of one answer; `ResponsesAnswer` records what was produced in each."""

    def __init__(self, mapping: CallMapping, request: Request) -> None:
        super().__init__(mapping, ResponsesAnswer)
        self._request = request
        self._before: list[Any] = []
        """The client's items of the earlier rounds."""
        self._numbers = StreamNumbers()
        self._stream = RoundStream(mapping, self._numbers)
        self._delivered: bytes | None = None
        self._kept: tuple[SseEvent, dict[str, Any]] | None = None
        """The event that completes a stream, should its round not be answered."""

    def delivered_body(self) -> bytes | None:
        """The response as the client got it; None where it is the one produced."""
        if self._delivered is not None:
            return self._delivered
        response = as_object(self._now.produced_body()) or {}
        whole = self._join_rounds(response)
        return encode(whole) if whole != response else None

    # The rounds

    def hidden_calls(self) -> list[HiddenCall]:
        """The calls of this round that the client doesn't see."""
        calls = [item for item in self._now.output() if _is(item, "function_call")]
        return [
            HiddenCall(at, as_text(item, "call_id"), as_text(item, "name"), as_text(item, "arguments"), item)
            for at, item in enumerate(calls)
            if is_hidden_call(item, self._mapping)
        ]

    @property
    def unanswered(self) -> bool:
        """Whether this round has to be answered inside: it called inner tools only."""
        calls = [
            item
            for item in self._now.output()
            if isinstance(item, dict) and as_text(item, "type") in _ACTED_ON
        ]
        return (
            self._now.head_text("status") == "completed"
            and bool(calls)
            and all(is_hidden_call(item, self._mapping) for item in calls)
        )

    def start_next_round(self) -> None:
        self._before += self._client_items(self._now.output())
        super().start_next_round()
        self._stream = RoundStream(self._mapping, self._numbers)
        self._delivered, self._kept = None, None

    def conclude(self) -> bytes:
        """The answer as it stands: it has no calls for the client."""
        self._tell()
        if self._kept is None:
            return self._delivered or self.produced_body()
        event, data = self._kept
        return self._tell_response(event, data, self._join_rounds(as_mapping(data.get("response"))))

    def history_anchor(self) -> tuple[str, str | None]:
        """Each item is found by itself: `ResponsesClosing.put_backs`."""
        return "", None

    # Reading

    def read_body(self, body: bytes) -> bytes:
        self._now.read_body(body)
        response = as_object(body) or {}
        if not isinstance(response.get("output"), list):
            return body
        whole = self._join_rounds(response)
        self._delivered = encode(whole) if whole != response else body
        if not self.unanswered:
            self._tell()
        return self._delivered

    def read_event(self, event: SseEvent) -> Chunk:
        chunk = self._now.read_event(event)
        data = (as_object(event.data) or {}) if event.data else {}
        kind = as_text(data, "type")
        if kind in COMPLETING:
            return self._complete_response(event, data)
        if kind in BEGINNING:
            if self._earlier:
                return Chunk(b"")
            return Chunk(
                self._tell_response(event, data, self._restore_settings(as_mapping(data.get("response"))))
            )
        if kind and isinstance(data.get("output_index"), int):
            return Chunk(self._stream.feed(event, data), chunk.calls_tools)
        return Chunk(self._stream.event(event, data), chunk.calls_tools)

    def _complete_response(self, event: SseEvent, data: dict[str, Any]) -> Chunk:
        waited = self._stream.end()
        if self.unanswered:
            self._kept = event, data
            return Chunk(waited)
        self._tell()
        last = self._tell_response(event, data, self._join_rounds(as_mapping(data.get("response"))))
        return Chunk(waited + last, completing=True, ended=True)

    def _tell_response(self, event: SseEvent, data: dict[str, Any], response: dict[str, Any]) -> bytes:
        """An event about the response, with the response as the client is to see it."""
        if response == data.get("response"):
            return self._stream.event(event, data)
        mapped = {**data, "response": response}
        return self._stream.event(SseEvent(replace_event_data(event, encode(mapped)), event.data), mapped)

    def _client_items(self, output: list[Any]) -> list[Any]:
        """The client's items of a round."""
        kept = zip(output, select_client_items(output, self._mapping), strict=True)
        return [with_client_names(item, self._mapping) for item, theirs in kept if theirs]

    def _join_rounds(self, response: dict[str, Any]) -> dict[str, Any]:
        """The rounds as one response."""
        whole = self._restore_settings(response)
        output = response.get("output")
        if isinstance(output, list):
            whole = {**whole, "output": [*self._before, *self._client_items(output)]}
        if self._earlier:
            whole |= {**self._head, "usage": self.usage}
        return whole

    def _restore_settings(self, response: dict[str, Any]) -> dict[str, Any]:
        """The response with the client's own settings told back."""
        if not self._head:
            self._head = {name: response[name] for name in ("id", "created_at", "model") if name in response}
        document, whole = self._request.document, dict(response)
        if response.get("previous_response_id") is not None and "previous_response_id" in document.members:
            whole["previous_response_id"] = document.value("previous_response_id")
        if "instructions" in self._request.edits and "instructions" in response:
            whole["instructions"] = document.value("instructions")
        if "tool_choice" in response:
            whole["tool_choice"] = map_tool_choice(response["tool_choice"], self._mapping.client_name)
        if "tools" in response:
            whole["tools"] = _tools_told(response["tools"], document.value("tools"))
        return whole

    def _tell(self) -> None:
        """Let later requests go on from this response: the upstream knows it by its last round's id."""
        answered = self._request.on_answer
        if answered is not None:
            answered(
                as_object(self.delivered_body() or self.produced_body()) or {}, self._now.head_text("id")
            )


def _tools_told(told: Any, given: Any) -> Any:
    """The tools as the provider tells them back, where they are the ones that the client gave; else those."""
    if not isinstance(told, list) or not isinstance(given, list):
        return told
    if len(told) == len(given) and all(map(_same, told, given)):
        return told
    return [{**_TOLD_BACK, **one} if _is(one, "function") else one for one in given]


def _same(told: Any, given: Any) -> bool:
    if not isinstance(told, dict) or not isinstance(given, dict):
        return bool(told == given)
    return all(
        told.get(name) == given[name]
        for name in ("type", "name", "description", "parameters")
        if name in given
    )


def _is(item: Any, kind: str) -> bool:
    return isinstance(item, dict) and item.get("type") == kind
