"""Responses: read one item of `input`, and write texts back into it.

An item has its texts in one member at most, as a string or as parts: `content` of a message, `output` of a
tool's result. `input` may be a string, which is then the only item.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from crosswind.gateway.protocols.content_text import read_content_texts
from crosswind.gateway.protocols.document import JsonPath, replace_values
from crosswind.gateway.protocols.json_values import as_list, as_text, decode, encode
from crosswind.gateway.protocols.message_format import (
    UNPARSED,
    MessageFormat,
    ParsedMessage,
    TextPart,
    ToolResultPart,
)
from crosswind.injectors.conversation import ToolCall

REFERENCE = "item_reference"
SEARCHED = "tool_search_output"
INPUT_TEXT = ("input_text",)
OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})
CALLS: Mapping[str, str] = {"function_call": "arguments", "custom_tool_call": "input"}
"""The types of calls to the client's own tools, and the member with the arguments."""


class ResponsesItems(MessageFormat):
    """The items of `input`. A text's place is its part's index. Other items than the user's messages, calls
    and results are left alone: the provider's own tools, reasoning, compactions.
    """

    def parse(self, message: Any) -> ParsedMessage:
        if isinstance(message, str):
            return ParsedMessage((TextPart(None, message),), is_user=True)
        if not isinstance(message, dict):
            return UNPARSED
        kind = _kind(message)
        if kind in CALLS:
            arguments = as_text(message, CALLS[kind], "{}")
            call = ToolCall(as_text(message, "call_id"), as_text(message, "name"), arguments)
            return ParsedMessage(calls=(call,))
        if kind in OUTPUTS:
            texts = _texts(message.get("output"))
            return ParsedMessage(
                (ToolResultPart(as_text(message, "call_id"), as_text(message, "name"), texts),)
            )
        if kind == REFERENCE:
            return ParsedMessage(reference=as_text(message, "id"))
        loaded = frozenset(name for _, name in _find_loaded(message))
        other = ParsedMessage(own_id=as_text(message, "id"), tool_names=loaded)
        return _parse_text(message) if kind == "message" else other

    def write(self, raw: bytes, replacements: Sequence[tuple[int | None, str]]) -> bytes:
        item = decode(raw)
        return replace_values(raw, {_path(item, place): text for place, text in replacements})


def rename_loaded_tools(item: Any, named: Callable[[str], str]) -> Any:
    """An item with the functions that a search for tools found under other names; the same object if there
    are none.
    """
    found = {path: named(name) for path, name in _find_loaded(item) if named(name) != name}
    return decode(replace_values(encode(item), found)) if found else item


def _find_loaded(item: Any) -> list[tuple[JsonPath, str]]:
    """The client's own functions that a search found, by path. Those in namespaces keep their names."""
    if not isinstance(item, dict) or item.get("type") != SEARCHED:
        return []
    return [
        (("tools", at, "name"), tool["name"])
        for at, tool in enumerate(as_list(item.get("tools")))
        if isinstance(tool, dict) and tool.get("type") == "function" and isinstance(tool.get("name"), str)
    ]


def _kind(item: Mapping[str, Any]) -> str:
    """An item's type. Messages and references may come without one."""
    if item.get("type") is None:
        return "message" if "role" in item else REFERENCE
    return as_text(item, "type")


def _parse_text(item: Mapping[str, Any]) -> ParsedMessage:
    if item.get("role") == "assistant":
        return ParsedMessage(own_text=own_text(item))
    user = item.get("role") == "user"
    return ParsedMessage(_texts(item.get("content")), is_user=True) if user else UNPARSED


def own_text(item: Mapping[str, Any]) -> str:
    """The policy's own text in a message."""
    return "".join(text for _, text in read_content_texts(item.get("content"), ("output_text", "input_text")))


def _texts(content: Any) -> tuple[TextPart, ...]:
    return tuple(TextPart(place, text) for place, text in read_content_texts(content, INPUT_TEXT))


def _path(item: Any, place: int | None) -> JsonPath:
    if isinstance(item, str):
        return ()
    member = "output" if _kind(item) in OUTPUTS else "content"
    return (member,) if place is None else (member, place, "text")
