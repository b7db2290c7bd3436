"""Responses: the client's world closed. Each item of an answer stands by itself in the history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from crosswind.gateway.protocols.answer import AnswerReader
from crosswind.gateway.protocols.coercion import as_text
from crosswind.gateway.protocols.content_text import split_array, split_object
from crosswind.gateway.protocols.document import decode, encode
from crosswind.gateway.protocols.hidden_tools import CallMapping, HiddenCall, Reinsertion
from crosswind.gateway.protocols.request import Request
from crosswind.gateway.protocols.responses.items import CALLS, own_text, rename_loaded_tools
from crosswind.gateway.protocols.responses.mapped_answer import MappedResponsesAnswer
from crosswind.gateway.protocols.responses.round_stream import is_call, is_hidden_call, select_client_items
from crosswind.gateway.protocols.splicing import replace_values
from crosswind.gateway.protocols.tool_mapping import AnchoredReinsertion, AnswerAnchor, AnsweredRound
from crosswind.gateway.protocols.tools import arrange_tools, as_list, changed_members, other_tool_names
from crosswind.injectors.engine.tool_list import ShownTool


class ResponsesToolMapping:
    """The forms of Responses."""

    duplicates = "allowed"

    def strict_tools(self, tools: bytes) -> frozenset[str]:
        """Strict is what providers assume where a function doesn't say."""
        return frozenset(
            tool["name"] for tool in decode(tools) if is_function(tool) and tool.get("strict") is not False
        )

    def reserved_names(self, tools: bytes) -> frozenset[str]:
        return other_tool_names(tools, is_function)

    def write_tools(self, raw: bytes, shown: Sequence[ShownTool]) -> bytes:
        declared = [(element, is_function(decode(element))) for element in split_array(raw)]
        functions = [element for element, function in declared if function]
        written = [
            _tool({"strict": False}, tool)
            if tool.source is None
            else _show_tool(functions[tool.source], tool)
            for tool in shown
        ]
        return arrange_tools([(element, not function) for element, function in declared], written)

    def history_messages(self, produced: bytes) -> tuple[bytes, ...]:
        """An answer's items. Reasoning that was neither stored nor sealed can't come back."""
        response = decode(produced)
        stored = response.get("store") is not False
        return tuple(
            encode(item)
            for item in response["output"]
            if stored or item.get("type") != "reasoning" or item.get("encrypted_content")
        )

    def result_messages(self, results: Sequence[tuple[HiddenCall, str]]) -> tuple[bytes, ...]:
        return tuple(
            encode({"type": "function_call_output", "call_id": call.call_id, "output": text})
            for call, text in results
        )

    def rename_calls(self, raw: bytes, names: Mapping[str, str]) -> bytes:
        item = decode(raw)
        found = rename_loaded_tools(item, lambda name: names.get(name, name))
        if found is not item:
            return encode(found)
        name = item.get("name")
        # A reference has no name of its own: the upstream knows the call under the one that it was made by.
        return (
            replace_values(raw, {("name",): names[name]})
            if name in names and not item.get("namespace")
            else raw
        )

    def reinsert(self, raw: bytes, put: Reinsertion) -> bytes:
        before, after = ([item.encode() for item in items] for items in (put.before, put.results))
        names = {name for _, name in put.called}
        # A reference has no name of its own.
        own = replace_values(raw, {("name",): names.pop()}) if names and "name" in decode(raw) else raw
        return b",".join([*before, own, *after])

    def insert_results(self, raw: bytes, put: Reinsertion) -> bytes:
        return raw

    def expand_message(self, raw: bytes) -> bytes:
        """A string of input as an item."""
        return b'{"role":"user","content":' + raw + b"}"

    def find_reinsertions(
        self, answer: AnswerReader, mapping: CallMapping, before: Sequence[AnsweredRound], last: AnsweredRound
    ) -> list[AnchoredReinsertion]:
        """What is put back before each of the client's items, and behind the last one."""
        kept: list[AnchoredReinsertion] = []
        missing: list[bytes] = []
        names = tuple(call.name for _, results in [*before, last] for call, _ in results)
        anchor: AnswerAnchor | None = None
        counted: Counter[tuple[str, str | None]] = Counter()
        for produced, results in [*before, last]:
            output = as_list(decode(produced).get("output"))
            unanswered = _calls(output, mapping) - {call.call_id for call, _ in results}
            for item, theirs in zip(output, select_client_items(output, mapping), strict=True):
                own_anchor = _anchor(item) if theirs else None
                if own_anchor is None:
                    back = not theirs and as_text(item, "call_id") not in unanswered
                    missing += [encode(item)] if back else []
                    continue
                anchor = (*own_anchor, counted[own_anchor])
                counted[own_anchor] += 1
                called = _called(item, mapping)
                if missing or called:
                    kept.append((anchor, Reinsertion(before=_texts(missing), called=called)))
                    missing = []
            missing += self.result_messages(results)
        if missing and anchor is not None:
            own = kept.pop()[1] if kept and kept[-1][0] == anchor else Reinsertion()
            owed = _texts(self.result_messages(last[1]))
            kept.append((anchor, replace(own, results=_texts(missing), owed=owed)))
        if kept:
            (found, put), *rest = kept
            kept = [(found, replace(put, names=names)), *rest]
        return kept

    def answer_reader(
        self, request: Request, mapping: CallMapping, *, captured: bool
    ) -> MappedResponsesAnswer:
        return MappedResponsesAnswer(mapping, request)


def is_function(tool: Any) -> bool:
    """Whether a declared tool is one of the client's functions."""
    return isinstance(tool, dict) and tool.get("type") == "function" and isinstance(tool.get("name"), str)


def _show_tool(raw: bytes, tool: ShownTool) -> bytes:
    """A declared tool as it is shown: its own bytes where nothing changed."""
    return _tool(split_object(raw), tool) if tool.changed else raw


def _tool(members: dict[str, Any], tool: ShownTool) -> bytes:
    return encode({"type": "function", **members, **changed_members(tool, parameters="parameters")})


def _called(item: Any, mapping: CallMapping) -> tuple[tuple[str, str], ...]:
    """The name that the policy called, where it isn't the one that the client's would be shown under."""
    name = as_text(item, "name") if is_call(item) else ""
    return ((as_text(item, "call_id"), name),) if name and mapping.shown_name(name) != name else ()


def _calls(output: Sequence[Any], mapping: CallMapping) -> set[str]:
    return {as_text(item, "call_id") for item in output if is_hidden_call(item, mapping)}


def _anchor(item: Any) -> tuple[str, str | None] | None:
    """By what an item is found again: its call's id, its own text, or else its own id."""
    if not isinstance(item, dict):
        return None
    if as_text(item, "type") in CALLS:
        return as_text(item, "call_id"), None
    if item.get("type") == "message":
        return "", own_text(item)
    return (as_text(item, "id"), None) if as_text(item, "id") else None


def _texts(items: Sequence[bytes]) -> tuple[str, ...]:
    return tuple(item.decode() for item in items)
