"""Responses: one item of `input` read, and a text written back into it.

An item has its texts in one member at most, as a string or as parts: `content` of a message, `output` of a
tool's result. `input` may be a string instead of items: it then is one item of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from crosswind.gateway.protocols.coercion import as_text
from crosswind.gateway.protocols.content_text import read_content_texts
from crosswind.gateway.protocols.document import decode, encode
from crosswind.gateway.protocols.message_format import UNPARSED, ParsedMessage, TextPart, ToolResultPart
from crosswind.gateway.protocols.splicing import JsonPath, replace_values
from crosswind.injectors.conversation import ToolCall

REFERENCE = "item_reference"
SEARCHED = "tool_search_output"
INPUT_TEXT = ("input_text",)
OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})
CALLS: Mapping[str, str] = {"function_call": "arguments", "custom_tool_call": "input"}
"""The kinds of calls that the client's own tools get, and the member with what they are called with."""


class ResponsesItems:
    """The items of `input`: a text's place is its part's index. What isn't the user's, a call or its result
    is left alone: the provider's own tools, reasoning, references, compactions.
    """

    def parse(self, message: Any) -> ParsedMessage:
        if isinstance(message, str):
            return ParsedMessage((TextPart(None, message),), is_user=True)
        if not isinstance(message, dict):
            return UNPARSED
        kind = _kind(message)
        if kind in CALLS:
            return ParsedMessage(calls=(_call(message, CALLS[kind]),))
        if kind in OUTPUTS:
            texts = _texts(message.get("output"))
            return ParsedMessage(
                (ToolResultPart(as_text(message, "call_id"), as_text(message, "name"), texts),)
            )
        if kind == REFERENCE:
            return ParsedMessage(reference=as_text(message, "id"))
        return _message(message) if kind == "message" else _other(message)

    def write(self, raw: bytes, replacements: Sequence[tuple[int | None, str]]) -> bytes:
        item = decode(raw)
        return replace_values(raw, {_path(item, place): text for place, text in replacements})


def rename_loaded_tools(item: Any, named: Callable[[str], str]) -> Any:
    """An item with the functions that a search for tools found under other names; the very same where none
    is.
    """
    found = {path: named(name) for path, name in _find_loaded(item) if named(name) != name}
    return decode(replace_values(encode(item), found)) if found else item


def _find_loaded(item: Any) -> list[tuple[JsonPath, str]]:
    """The client's own functions that a search found, by their paths. Namespaces keep theirs."""
    if not isinstance(item, dict) or item.get("type") != SEARCHED:
        return []
    tools = item.get("tools")
    return [
        (("tools", at, "name"), tool["name"])
        for at, tool in enumerate(tools if isinstance(tools, list) else [])
        if isinstance(tool, dict) and tool.get("type") == "function" and isinstance(tool.get("name"), str)
    ]


def _kind(item: Mapping[str, Any]) -> Any:
    """Messages and references may come without a type."""
    kind = item.get("type")
    if kind is None:
        return "message" if "role" in item else REFERENCE
    return kind if isinstance(kind, str) else None


def _message(item: Mapping[str, Any]) -> ParsedMessage:
    if item.get("role") == "assistant":
        return ParsedMessage(own_text=own_text(item))
    return (
        ParsedMessage(_texts(item.get("content")), is_user=True) if item.get("role") == "user" else UNPARSED
    )


def own_text(item: Mapping[str, Any]) -> str:
    """What the policy itself says in a message."""
    return "".join(text for _, text in read_content_texts(item.get("content"), ("output_text", "input_text")))


def _other(item: Mapping[str, Any]) -> ParsedMessage:
    return ParsedMessage(
        own_id=as_text(item, "id"), tool_names=frozenset(name for _, name in _find_loaded(item))
    )


def _texts(content: Any) -> tuple[TextPart, ...]:
    return tuple(TextPart(place, text) for place, text in read_content_texts(content, INPUT_TEXT))


def _call(item: Mapping[str, Any], member: str) -> ToolCall:
    called_with = item.get(member)
    return ToolCall(
        as_text(item, "call_id"), as_text(item, "name"), called_with if isinstance(called_with, str) else "{}"
    )


def _path(item: Any, place: int | None) -> JsonPath:
    if isinstance(item, str):
        return ()
    member = "output" if _kind(item) in OUTPUTS else "content"
    return (member,) if place is None else (member, place, "text")
