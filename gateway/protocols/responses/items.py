"""Responses: one item of `input` read, and a text written back into it.

An item has its texts in one member at most, as a string or as parts: `content` of a message, `output` of a
tool's result. `input` may be a string instead of items: it then is one item of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from crosswind.gateway.protocols.coercion import text_of
from crosswind.gateway.protocols.content_text import content_texts
from crosswind.gateway.protocols.document import decode, encode
from crosswind.gateway.protocols.message_format import UNREAD, Answered, Read, Text
from crosswind.gateway.protocols.splicing import Path, spliced
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

    def read(self, message: Any) -> Read:
        if isinstance(message, str):
            return Read((Text(None, message),), user=True)
        if not isinstance(message, dict):
            return UNREAD
        kind = _kind(message)
        if kind in CALLS:
            return Read(calls=(_call(message, CALLS[kind]),))
        if kind in OUTPUTS:
            texts = _texts(message.get("output"))
            return Read((Answered(text_of(message, "call_id"), text_of(message, "name"), texts),))
        if kind == REFERENCE:
            return Read(reference=text_of(message, "id"))
        return _message(message) if kind == "message" else _other(message)

    def write(self, raw: bytes, replacements: Sequence[tuple[int | None, str]]) -> bytes:
        item = decode(raw)
        return spliced(raw, {_path(item, place): text for place, text in replacements})


def loading(item: Any, named: Callable[[str], str]) -> Any:
    """An item with the functions that a search for tools found under other names; the very same where none
    is.
    """
    found = {path: named(name) for path, name in _loaded(item) if named(name) != name}
    return decode(spliced(encode(item), found)) if found else item


def _loaded(item: Any) -> list[tuple[Path, str]]:
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


def _message(item: Mapping[str, Any]) -> Read:
    if item.get("role") == "assistant":
        return Read(said=own_text(item))
    return Read(_texts(item.get("content")), user=True) if item.get("role") == "user" else UNREAD


def own_text(item: Mapping[str, Any]) -> str:
    """What the policy itself says in a message."""
    return "".join(text for _, text in content_texts(item.get("content"), ("output_text", "input_text")))


def _other(item: Mapping[str, Any]) -> Read:
    return Read(made_id=text_of(item, "id"), names=frozenset(name for _, name in _loaded(item)))


def _texts(content: Any) -> tuple[Text, ...]:
    return tuple(Text(place, text) for place, text in content_texts(content, INPUT_TEXT))


def _call(item: Mapping[str, Any], member: str) -> ToolCall:
    called_with = item.get(member)
    return ToolCall(
        text_of(item, "call_id"), text_of(item, "name"), called_with if isinstance(called_with, str) else "{}"
    )


def _path(item: Any, place: int | None) -> Path:
    if isinstance(item, str):
        return ()
    member = "output" if _kind(item) in OUTPUTS else "content"
    return (member,) if place is None else (member, place, "text")
