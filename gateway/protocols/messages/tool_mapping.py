"""Messages: the client's world closed. Results stand in the user's message behind the policy's, before all
else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from crosswind.gateway.protocols.answer import AnswerReader
from crosswind.gateway.protocols.coercion import as_text
from crosswind.gateway.protocols.content_text import split_array, split_object
from crosswind.gateway.protocols.document import Document, decode, encode
from crosswind.gateway.protocols.hidden_tools import CallMapping, HiddenCall, Reinsertion
from crosswind.gateway.protocols.messages.block_stream import is_call
from crosswind.gateway.protocols.messages.mapped_answer import MappedMessagesAnswer
from crosswind.gateway.protocols.messages.tool_references import find_references
from crosswind.gateway.protocols.request import Request
from crosswind.gateway.protocols.splicing import JsonPath, replace_values
from crosswind.gateway.protocols.tool_mapping import (
    AnchoredReinsertion,
    AnsweredRound,
    find_renamed_calls,
    reinsert_around_message,
)
from crosswind.gateway.protocols.tools import arrange_tools, as_list, changed_members, other_tool_names
from crosswind.injectors.engine.tool_list import ShownTool

_MARKS = {"text": "text", "thinking": "signature", "redacted_thinking": "data"}
"""The member by which a block is known again, by the block's type."""


class MessagesToolMapping:
    """The forms of Messages. Providers refuse two tools of one name."""

    duplicates = "suffixed"

    def strict_tools(self, tools: bytes) -> frozenset[str]:
        return frozenset(
            tool["name"] for tool in decode(tools) if is_own(tool) and tool.get("strict") is True
        )

    def reserved_names(self, tools: bytes) -> frozenset[str]:
        return other_tool_names(tools, is_own)

    def write_tools(self, raw: bytes, shown: Sequence[ShownTool]) -> bytes:
        declared = [(element, is_own(decode(element))) for element in split_array(raw)]
        own = [element for element, is_theirs in declared if is_theirs]
        written = [_tool(b"{}" if tool.source is None else own[tool.source], tool) for tool in shown]
        return arrange_tools([(element, not is_theirs) for element, is_theirs in declared], written)

    def history_messages(self, produced: bytes) -> tuple[bytes, ...]:
        return (encode({"role": "assistant", "content": decode(produced)["content"]}),)

    def result_messages(self, results: Sequence[tuple[HiddenCall, str]]) -> tuple[bytes, ...]:
        blocks = [
            {"type": "tool_result", "tool_use_id": call.call_id, "content": text} for call, text in results
        ]
        return (encode({"role": "user", "content": blocks}),) if blocks else ()

    def rename_calls(self, raw: bytes, names: Mapping[str, str]) -> bytes:
        content = decode(raw)["content"]
        paths = {path: names[name] for path, name in find_references(content).items() if name in names}
        calls: dict[JsonPath, str] = {
            ("content", index, "name"): names[block["name"]]
            for index, block in enumerate(content)
            if isinstance(block, dict) and block.get("type") == "tool_use" and as_text(block, "name") in names
        }
        return replace_values(raw, paths | calls)

    def reinsert(self, raw: bytes, put: Reinsertion) -> bytes:
        earlier = [block for message in put.before for block in _said(message)]
        own = (_own(block, earlier, put.text) for block in _content(raw))
        blocks = [block for block in own if block is not None]
        if put.called:
            names = dict(put.called)
            blocks = [_under(names, block) for block in blocks]
        for position, call in put.calls:
            blocks.insert(position, call.encode())
        before = [message.encode() for message in put.before]
        # A last round that said nothing leaves nothing to send: messages may not be empty.
        return b",".join([*before, _with_content(raw, blocks)] if blocks else before)

    def insert_results(self, raw: bytes, put: Reinsertion) -> bytes:
        results = [block for message in put.results for block in _content(message.encode())]
        return _with_content(raw, [*results, *_content(raw)]) if results else raw

    def expand_message(self, raw: bytes) -> bytes:
        return raw

    def find_reinsertions(
        self, answer: AnswerReader, mapping: CallMapping, before: Sequence[AnsweredRound], last: AnsweredRound
    ) -> list[AnchoredReinsertion]:
        blocks = decode(last[0]).get("content") if answer.finished else []
        calls = [
            (str(block.get("id", "")), str(block.get("name", "")))
            for block in as_list(blocks)
            if isinstance(block, dict) and is_call(block)
        ]
        return reinsert_around_message(
            self, answer, before, last, find_renamed_calls(mapping, calls, last[1])
        )

    def answer_reader(
        self, request: Request, mapping: CallMapping, *, captured: bool
    ) -> MappedMessagesAnswer:
        return MappedMessagesAnswer(mapping)


def is_own(tool: Any) -> bool:
    """Whether a declared tool is the client's own: the provider's have another type."""
    return (
        isinstance(tool, dict)
        and tool.get("type", "custom") in (None, "custom")
        and isinstance(tool.get("name"), str)
    )


def _tool(raw: bytes, tool: ShownTool) -> bytes:
    """A declared tool as it is shown: its own bytes where nothing changed."""
    if not tool.changed:
        return raw
    members = split_object(raw) | changed_members(tool, parameters="input_schema")
    if "parameters" in tool.changed:
        # Providers hold the examples to the schema.
        members.pop("input_examples", None)
    return encode({"input_schema": {"type": "object", "properties": {}}} | members)


def _under(names: Mapping[str, str], raw: bytes) -> bytes:
    """A call under the name that the policy called, by its id."""
    block = decode(raw)
    if not isinstance(block, dict) or not is_call(block) or as_text(block, "id") not in names:
        return raw
    return replace_values(raw, {("name",): names[block["id"]]})


def _content(message: bytes) -> list[bytes]:
    """A message's blocks, each as it stands; a string is one block of text."""
    document = Document.parse(message)
    raw = document.raw("content") if document else encode(decode(message).get("content"))
    value = decode(raw) if raw is not None and raw.startswith(b'"') else None
    if value is not None:
        return [encode({"type": "text", "text": value})] if value else []
    return split_array(raw)


def _with_content(message: bytes, blocks: Sequence[bytes]) -> bytes:
    content = b"[" + b",".join(blocks) + b"]"
    document = Document.parse(message)
    if document is None:
        return encode({**decode(message), "content": decode(content)})
    span = document.members["content"]
    return message[: span.start] + content + message[span.end :]


def _said(message: str) -> list[dict[str, Any]]:
    """What a message of the policy's says besides its calls; of a user's nothing."""
    made = decode(message.encode())
    blocks = made["content"] if made["role"] == "assistant" else []
    return [block for block in blocks if isinstance(block, dict) and as_text(block, "type") in _MARKS]


def _own(raw: bytes, earlier: list[dict[str, Any]], text: str | None) -> bytes | None:
    """What of a block earlier rounds did not say; None where that is nothing. What they said is taken from
    `earlier`. `text` is the last round's own: clients join texts as they like.
    """
    block = decode(raw)
    kind = as_text(block, "type") if isinstance(block, dict) else ""
    mark = _MARKS.get(kind)
    left = block.get(mark) if mark else None
    if mark is None or not isinstance(left, str):
        return raw
    known = False
    while (at := _first(earlier, str(kind), left)) is not None:
        # Clients leave blocks out: those before this one won't come any more.
        said = str(earlier[at][mark])
        del earlier[: at + 1]
        if left == said:
            return None
        left, known = left[len(said) :], True
    if not known:
        return raw
    return encode({**block, mark: text if text and left.strip() == text.strip() else left})


def _first(earlier: Sequence[Mapping[str, Any]], kind: str, left: str) -> int | None:
    """The first of the earlier blocks that this one is, or begins with."""
    for at, one in enumerate(earlier):
        said = one.get(_MARKS[kind])
        if one.get("type") == kind and said and (left == said or (kind == "text" and left.startswith(said))):
            return at
    return None
