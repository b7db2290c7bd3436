"""Responses: map tools and calls. Each item of an answer is an item of the history, too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from crosswind.gateway.protocols.answer import AnswerReader
from crosswind.gateway.protocols.document import JsonPath, replace_values, split_object
from crosswind.gateway.protocols.hidden_tools import CallMapping, HiddenCall, Reinsertion
from crosswind.gateway.protocols.json_values import as_list, as_text, decode, encode
from crosswind.gateway.protocols.request import Request
from crosswind.gateway.protocols.responses.items import CALLS, OUTPUTS, own_text, rename_loaded_tools
from crosswind.gateway.protocols.responses.mapped_answer import MappedResponsesAnswer
from crosswind.gateway.protocols.responses.mapped_stream import is_call, is_hidden_call, select_client_items
from crosswind.gateway.protocols.tool_mapping import (
    AnchoredReinsertion,
    AnswerAnchor,
    AnsweredRound,
    ToolMapping,
)
from crosswind.injectors.engine.tool_list import ShownTool


class ResponsesToolMapping(ToolMapping):
    """The forms of Responses."""

    strict_by_default = True

    def function_of(self, tool: Any) -> dict[str, Any] | None:
        """The client's own functions. The provider's tools, custom ones and namespaces are left alone."""
        own = isinstance(tool, dict) and tool.get("type") == "function"
        return tool if own and isinstance(tool.get("name"), str) else None

    def write_tool(self, raw: bytes | None, tool: ShownTool, changed: dict[str, Any]) -> bytes:
        members = {"strict": False} if raw is None else split_object(raw)
        return encode({"type": "function", **members, **changed})

    def history_messages(self, produced: bytes) -> tuple[bytes, ...]:
        """An answer's items. Reasoning that was neither stored nor encrypted can't come back."""
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
        # A reference has no name of its own: the upstream knows the call by the name that it was made with.
        renamed = name in names and not item.get("namespace")
        return replace_values(raw, {("name",): names[name]}) if renamed else raw

    def reinsert(self, raw: bytes, put: Reinsertion) -> bytes:
        before, after = ([item.encode() for item in items] for items in (put.before, put.results))
        names = {name for _, name in put.called}
        # A reference has no name of its own.
        own = replace_values(raw, {("name",): names.pop()}) if names and "name" in decode(raw) else raw
        return b",".join([*before, own, *after])

    def id_paths(self, message: Any) -> tuple[list[JsonPath], list[JsonPath]]:
        """A reference has no id of a call: the upstream knows the call by the one that the policy gave it."""
        paths: list[JsonPath] = [("call_id",)] if isinstance(message, dict) and "call_id" in message else []
        kind = as_text(message, "type") if paths else ""
        return paths if kind in CALLS else [], paths if kind in OUTPUTS else []

    def expand_message(self, raw: bytes) -> bytes:
        """A string of input as an item."""
        return b'{"role":"user","content":' + raw + b"}"

    def find_reinsertions(
        self,
        answer: AnswerReader,
        mapping: CallMapping,
        before: Sequence[AnsweredRound],
        last: AnsweredRound,
    ) -> list[AnchoredReinsertion]:
        """Each item is found alone: the hidden items go before the client's next item, or behind its last."""
        kept: list[AnchoredReinsertion] = []
        missing: list[bytes] = []
        names = tuple(call.name for _, results in [*before, last] for call, _ in results)
        anchor: AnswerAnchor | None = None
        counted: Counter[tuple[str, str | None]] = Counter()
        for produced, results in [*before, last]:
            output = as_list(decode(produced).get("output"))
            hidden = {as_text(item, "call_id") for item in output if is_hidden_call(item, mapping)}
            unanswered = hidden - {call.call_id for call, _ in results}
            for item, theirs in zip(output, select_client_items(output, mapping), strict=True):
                own_anchor = _anchor(item) if theirs else None
                if own_anchor is None:
                    back = not theirs and as_text(item, "call_id") not in unanswered
                    missing += [encode(item)] if back else []
                    continue
                anchor = (*own_anchor, counted[own_anchor])
                counted[own_anchor] += 1
                called = _name_called(item, mapping)
                if missing or called:
                    kept.append((anchor, Reinsertion(before=_decode(missing), called=called)))
                    missing = []
            missing += self.result_messages(results)
        if missing and anchor is not None:
            own = kept.pop()[1] if kept and kept[-1][0] == anchor else Reinsertion()
            owed = _decode(self.result_messages(last[1]))
            kept.append((anchor, replace(own, results=_decode(missing), owed=owed)))
        if kept:
            kept[0] = (kept[0][0], replace(kept[0][1], names=names))
        return kept

    def answer_reader(
        self, request: Request, mapping: CallMapping, *, captured: bool
    ) -> MappedResponsesAnswer:
        return MappedResponsesAnswer(mapping, request)


def _name_called(item: Any, mapping: CallMapping) -> tuple[tuple[str, str], ...]:
    """The name that the policy called, if the client's name would be shown to it as another one."""
    name = as_text(item, "name") if is_call(item) else ""
    return ((as_text(item, "call_id"), name),) if name and mapping.shown_name(name) != name else ()


def _anchor(item: Any) -> tuple[str, str | None] | None:
    """How a history finds an item: by its call's id, by its own text, or else by its own id."""
    if not isinstance(item, dict):
        return None
    if as_text(item, "type") in CALLS:
        return as_text(item, "call_id"), None
    if item.get("type") == "message":
        return "", own_text(item)
    return (as_text(item, "id"), None) if as_text(item, "id") else None


def _decode(items: Sequence[bytes]) -> tuple[str, ...]:
    return tuple(item.decode() for item in items)
