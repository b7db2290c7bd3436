"""Chat Completions: the client's world closed. Results are messages of their own, behind the policy's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from crosswind.gateway.protocols.answer import AnswerReader
from crosswind.gateway.protocols.chat.answer import ChatAnswer
from crosswind.gateway.protocols.chat.mapped_answer import MappedChatAnswer
from crosswind.gateway.protocols.content_text import split_array, split_object
from crosswind.gateway.protocols.document import decode, encode
from crosswind.gateway.protocols.hidden_tools import CallMapping, HiddenCall, Reinsertion
from crosswind.gateway.protocols.request import Request
from crosswind.gateway.protocols.tool_mapping import (
    AnchoredReinsertion,
    AnsweredRound,
    find_renamed_calls,
    reinsert_around_message,
)
from crosswind.gateway.protocols.tools import arrange_tools, as_list, changed_members, other_tool_names
from crosswind.injectors.engine.tool_list import ShownTool


class ChatToolMapping:
    """The forms of Chat Completions."""

    duplicates = "allowed"

    def strict_tools(self, tools: bytes) -> frozenset[str]:
        declared = [tool["function"] for tool in decode(tools) if is_function(tool)]
        return frozenset(function["name"] for function in declared if function.get("strict") is True)

    def reserved_names(self, tools: bytes) -> frozenset[str]:
        return other_tool_names(tools, is_function)

    def write_tools(self, raw: bytes, shown: Sequence[ShownTool]) -> bytes:
        declared = [(element, is_function(decode(element))) for element in split_array(raw)]
        functions = [element for element, function in declared if function]
        written = [
            _tool({}, tool) if tool.source is None else _show_tool(functions[tool.source], tool)
            for tool in shown
        ]
        return arrange_tools([(element, not function) for element, function in declared], written)

    def history_messages(self, produced: bytes) -> tuple[bytes, ...]:
        message = _message(decode(produced))
        return (encode({name: value for name, value in message.items() if value is not None}),)

    def result_messages(self, results: Sequence[tuple[HiddenCall, str]]) -> tuple[bytes, ...]:
        return tuple(
            encode({"role": "tool", "tool_call_id": call.call_id, "content": text}) for call, text in results
        )

    def rename_calls(self, raw: bytes, names: Mapping[str, str]) -> bytes:
        members = split_object(raw)
        calls = decode(bytes(members["tool_calls"]))
        for function in _functions(calls):
            function["name"] = names.get(function["name"], function["name"])
        return encode({**members, "tool_calls": calls})

    def reinsert(self, raw: bytes, put: Reinsertion) -> bytes:
        members = split_object(raw)
        if put.before:
            members["content"] = put.text
        if put.called:
            names = dict(put.called)
            calls = [decode(call) for call in split_array(members.get("tool_calls"))]
            for call in calls:
                for function in _functions([call]):
                    function["name"] = names.get(call.get("id"), function["name"])
            members["tool_calls"] = encode(calls)
        if put.calls:
            calls = [msgspec.Raw(call) for call in split_array(members.get("tool_calls"))]
            for position, call in put.calls:
                calls.insert(position, msgspec.Raw(call.encode()))
            members["tool_calls"] = calls
        around = [[message.encode() for message in messages] for messages in (put.before, put.results)]
        return b",".join([*around[0], encode(members), *around[1]])

    def insert_results(self, raw: bytes, put: Reinsertion) -> bytes:
        return raw

    def expand_message(self, raw: bytes) -> bytes:
        return raw

    def find_reinsertions(
        self, answer: AnswerReader, mapping: CallMapping, before: Sequence[AnsweredRound], last: AnsweredRound
    ) -> list[AnchoredReinsertion]:
        calls = _calls(decode(last[0])) if answer.finished else []
        return reinsert_around_message(
            self, answer, before, last, find_renamed_calls(mapping, calls, last[1])
        )

    def answer_reader(self, request: Request, mapping: CallMapping, *, captured: bool) -> MappedChatAnswer:
        make = partial(ChatAnswer, choices=request.choices, captured=captured, asked=request.requested)
        return MappedChatAnswer(mapping, make)


def _calls(answer: Any) -> list[tuple[str, str]]:
    """The calls of the first choice, by id and name."""
    calls = as_list(_message(answer).get("tool_calls"))
    return [
        (call.get("id") or "", call["function"]["name"])
        for call in calls
        if is_function(call) and isinstance(call.get("id"), str | None)
    ]


def _message(answer: Any) -> dict[str, Any]:
    """The message of the first choice; empty where that has none."""
    choices = [choice for choice in as_list(answer.get("choices")) if isinstance(choice, dict)]
    message = choices[0].get("message") if choices else None
    return message if isinstance(message, dict) else {}


def _functions(calls: Sequence[Any]) -> list[dict[str, Any]]:
    """The functions that are called by name, of calls whose ids are text."""
    return [
        call["function"] for call in calls if is_function(call) and isinstance(call.get("id"), str | None)
    ]


def is_function(tool: Any) -> bool:
    """Whether a declared tool is a function with a name."""
    function = tool.get("function") if isinstance(tool, dict) else None
    return isinstance(function, dict) and isinstance(function.get("name"), str)


def _show_tool(raw: bytes, tool: ShownTool) -> bytes:
    """A declared tool as it is shown: its own bytes where nothing changed."""
    return _tool(split_object(raw), tool) if tool.changed else raw


def _tool(members: dict[str, Any], tool: ShownTool) -> bytes:
    function = split_object(bytes(members["function"])) if members else {}
    function |= changed_members(tool, parameters="parameters")
    return encode({"type": "function", **members, "function": function})
