"""Responses: the client's answer where calls have to be mapped back.

A round that calls hidden tools only is answered inside the gateway, and the next round's items follow. The
client gets one response: the first round's id, the items of all rounds, and the sum of the usages. A response
repeats the request's settings: these become the client's again.
"""

from __future__ import annotations

from typing import Any

from crosswind.gateway.http.sse import SseEvent, replace_event_data
from crosswind.gateway.protocols.answer import Chunk
from crosswind.gateway.protocols.hidden_tools import CallMapping, HiddenCall
from crosswind.gateway.protocols.json_values import as_mapping, as_mappings, as_object, as_text, encode
from crosswind.gateway.protocols.mapped_answer import MappedAnswer
from crosswind.gateway.protocols.request import Request
from crosswind.gateway.protocols.responses.answer import BEGINNING, COMPLETING, ResponsesAnswer
from crosswind.gateway.protocols.responses.mapped_stream import (
    RoundStream,
    StreamNumbers,
    is_hidden_call,
    select_client_items,
    with_client_names,
)
from crosswind.gateway.protocols.tools import map_tool_choice

_ANSWERED_BY_CLIENTS = frozenset(
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
"""The types of items that a client answers."""
_ADDED_MEMBERS = {"description": None, "parameters": None, "strict": True}
"""The members that providers add to a function when they repeat it, if the client left them out."""


class MappedResponsesAnswer(MappedAnswer[ResponsesAnswer]):
    """Reads the rounds of one answer."""

    head_members = ("id", "created_at", "model")

    def __init__(self, mapping: CallMapping, request: Request) -> None:
        super().__init__(mapping, ResponsesAnswer)
        self._request = request
        self._before: list[Any] = []
        """The earlier rounds' items, as the client got them."""
        self._numbers = StreamNumbers()
        self._stream = RoundStream(mapping, self._numbers)
        self._delivered: bytes | None = None
        self._end: tuple[SseEvent, dict[str, Any]] | None = None
        """The event that completes the stream if the round isn't answered."""

    def delivered_body(self) -> bytes | None:
        if self._delivered is not None:
            return self._delivered
        response = as_object(self._now.produced_body()) or {}
        whole = self._join_rounds(response)
        return encode(whole) if whole != response else None

    # The rounds

    def hidden_calls(self) -> list[HiddenCall]:
        calls = [item for item in as_mappings(self._now.output()) if item.get("type") == "function_call"]
        return [
            HiddenCall(at, as_text(item, "call_id"), as_text(item, "name"), as_text(item, "arguments"), item)
            for at, item in enumerate(calls)
            if is_hidden_call(item, self._mapping)
        ]

    @property
    def unanswered(self) -> bool:
        items = as_mappings(self._now.output())
        calls = [item for item in items if as_text(item, "type") in _ANSWERED_BY_CLIENTS]
        return (
            self._now.head_text("status") == "completed"
            and bool(calls)
            and all(is_hidden_call(item, self._mapping) for item in calls)
        )

    def start_next_round(self) -> None:
        self._before += self._client_items(self._now.output())
        super().start_next_round()
        self._stream = RoundStream(self._mapping, self._numbers)
        self._delivered, self._end = None, None

    def conclude(self) -> bytes:
        self._tell()
        if self._end is None:
            return self._delivered or self.produced_body()
        event, data = self._end
        return self._tell_response(event, data, self._join_rounds(as_mapping(data.get("response"))))

    def history_anchor(self) -> tuple[str, str | None]:
        # Each item is found alone: see `ResponsesToolMapping.find_reinsertions`.
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
        return Chunk(self._stream.number_event(event, data), chunk.calls_tools)

    def _complete_response(self, event: SseEvent, data: dict[str, Any]) -> Chunk:
        waited = self._stream.end()
        if self.unanswered:
            self._end = event, data
            return Chunk(waited)
        self._tell()
        last = self._tell_response(event, data, self._join_rounds(as_mapping(data.get("response"))))
        return Chunk(waited + last, completing=True, ended=True)

    def _tell_response(self, event: SseEvent, data: dict[str, Any], response: dict[str, Any]) -> bytes:
        """An event with the whole response, which is replaced by the client's."""
        if response == data.get("response"):
            return self._stream.number_event(event, data)
        mapped = {**data, "response": response}
        return self._stream.number_event(
            SseEvent(replace_event_data(event, encode(mapped)), event.data), mapped
        )

    def _client_items(self, output: list[Any]) -> list[Any]:
        """The client's items of a round."""
        kept = zip(output, select_client_items(output, self._mapping), strict=True)
        return [with_client_names(item, self._mapping) for item, theirs in kept if theirs]

    def _join_rounds(self, response: dict[str, Any]) -> dict[str, Any]:
        """The rounds as one response, made from the last one's."""
        whole = self._restore_settings(response)
        output = response.get("output")
        if isinstance(output, list):
            whole = {**whole, "output": [*self._before, *self._client_items(output)]}
        if self._earlier:
            whole |= {**self._head, "usage": self.usage}
        return whole

    def _restore_settings(self, response: dict[str, Any]) -> dict[str, Any]:
        """The response with the client's own settings, which the policy may not have met."""
        self._remember_head(response)
        document, whole = self._request.split.document, dict(response)
        if response.get("previous_response_id") is not None and "previous_response_id" in document.members:
            whole["previous_response_id"] = document.value("previous_response_id")
        if "instructions" in self._request.edits and "instructions" in response:
            whole["instructions"] = document.value("instructions")
        if "tool_choice" in response:
            whole["tool_choice"] = map_tool_choice(response["tool_choice"], self._mapping.client_name)
        if "tools" in response:
            whole["tools"] = _restore_tools(response["tools"], document.value("tools"))
        return whole

    def _tell(self) -> None:
        """Let later requests continue this response. The upstream knows it by its last round's id."""
        if self._request.on_answer is not None:
            self._request.on_answer(
                as_object(self.delivered_body() or self.produced_body()) or {}, self._now.head_text("id")
            )


def _restore_tools(repeated: Any, given: Any) -> Any:
    """The tools as the provider repeats them, if they are the client's; else the client's, as it would."""
    if not isinstance(repeated, list) or not isinstance(given, list):
        return repeated
    if len(repeated) == len(given) and all(map(_is_same, repeated, given)):
        return repeated
    return [
        {**_ADDED_MEMBERS, **one} if isinstance(one, dict) and one.get("type") == "function" else one
        for one in given
    ]


def _is_same(repeated: Any, given: Any) -> bool:
    if not isinstance(repeated, dict) or not isinstance(given, dict):
        return bool(repeated == given)
    return all(
        repeated.get(name) == given[name]
        for name in ("type", "name", "description", "parameters")
        if name in given
    )
