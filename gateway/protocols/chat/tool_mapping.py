"""Chat Completions: map tools and calls. Results are messages of their own, behind the policy's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from crosswind.gateway.protocols.chat.answer import ChatAnswer
from crosswind.gateway.protocols.chat.mapped_answer import MappedChatAnswer
from crosswind.gateway.protocols.document import JsonPath, split_array, split_object
from crosswind.gateway.protocols.hidden_tools import CallMapping, HiddenCall, Reinsertion
from crosswind.gateway.protocols.json_values import as_list, as_mapping, as_mappings, as_text, decode, encode
from crosswind.gateway.protocols.request import Request
from crosswind.gateway.protocols.tool_mapping import ToolMapping
from crosswind.injectors.engine.tool_list import ShownTool


class ChatToolMapping(ToolMapping):
    """The forms of Chat Completions."""

    def function_of(self, tool: Any) -> dict[str, Any] | None:
        function = tool.get("function") if isinstance(tool, dict) else None
        return function if isinstance(function, dict) and isinstance(function.get("name"), str) else None

    def write_tool(self, raw: bytes | None, tool: ShownTool, changed: dict[str, Any]) -> bytes:
        members = {} if raw is None else split_object(raw)
        function = split_object(bytes(members["function"])) if members else {}
        return encode({"type": "function", **members, "function": function | changed})

    def history_messages(self, produced: bytes) -> tuple[bytes, ...]:
        return (encode({name: value for name, value in _message(produced).items() if value is not None}),)

    def result_messages(self, results: Sequence[tuple[HiddenCall, str]]) -> tuple[bytes, ...]:
        return tuple(
            encode({"role": "tool", "tool_call_id": call.call_id, "content": text}) for call, text in results
        )

    def read_calls(self, produced: bytes) -> list[tuple[str, str]]:
        calls = as_list(_message(produced).get("tool_calls"))
        return [(call.get("id") or "", function["name"]) for call, function in self._named_calls(calls)]

    def rename_calls(self, raw: bytes, names: Mapping[str, str]) -> bytes:
        members = split_object(raw)
        calls = decode(bytes(members["tool_calls"]))
        for _, function in self._named_calls(calls):
            function["name"] = names.get(function["name"], function["name"])
        return encode({**members, "tool_calls": calls})

    def reinsert(self, raw: bytes, put: Reinsertion) -> bytes:
        members = split_object(raw)
        if put.before:
            members["content"] = put.text
        if put.called:
            names = dict(put.called)
            calls = [decode(call) for call in split_array(members.get("tool_calls"))]
            for call, function in self._named_calls(calls):
                function["name"] = names.get(as_text(call, "id"), function["name"])
            members["tool_calls"] = encode(calls)
        if put.calls:
            raw_calls = [msgspec.Raw(call) for call in split_array(members.get("tool_calls"))]
            for position, hidden in put.calls:
                raw_calls.insert(position, msgspec.Raw(hidden.encode()))
            members["tool_calls"] = raw_calls
        before, after = ([message.encode() for message in messages] for messages in (put.before, put.results))
        return b",".join([*before, encode(members), *after])

    def id_paths(self, message: Any) -> tuple[list[JsonPath], list[JsonPath]]:
        calls: list[JsonPath] = [
            ("tool_calls", index, "id")
            for index, call in enumerate(as_list(message.get("tool_calls")))
            if isinstance(call, dict) and isinstance(call.get("function"), dict) and "id" in call
        ]
        return calls, [("tool_call_id",)] if message.get(
            "role"
        ) == "tool" and "tool_call_id" in message else []

    def answer_reader(self, request: Request, mapping: CallMapping, *, captured: bool) -> MappedChatAnswer:
        make = partial(ChatAnswer, choices=request.choices, captured=captured, asked=request.requested)
        return MappedChatAnswer(mapping, make)

    def _named_calls(self, calls: Sequence[Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """The calls of functions, and the functions; calls with an id that is no text are left alone."""
        return [
            (call, function)
            for call in calls
            if (function := self.function_of(call)) is not None and isinstance(call.get("id"), str | None)
        ]


def _message(produced: bytes) -> dict[str, Any]:
    """The message of a plain answer's first choice; empty if that has none."""
    choices = as_mappings(decode(produced).get("choices"))
    return as_mapping(choices[0].get("message")) if choices else {}
