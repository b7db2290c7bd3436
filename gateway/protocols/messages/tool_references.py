"""Messages: references to tools, by which a client's or a provider's search loads deferred ones.

Providers refuse references to undeclared tools: each side is given the names that it knows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from crosswind.gateway.protocols.document import JsonPath, replace_values
from crosswind.gateway.protocols.json_values import as_list, decode, encode


def find_references(content: Any) -> Mapping[JsonPath, str]:
    """The names of tools to which a message's content refers, by their paths in the message."""
    found: dict[JsonPath, str] = {}
    for at, block in enumerate(as_list(content)):
        for path, name in _of_block(block):
            found["content", at, *path] = name
    return found


def rename_references(block: dict[str, Any], named: Callable[[str], str]) -> dict[str, Any]:
    """A block of an answer with its references under other names; the same object if there are none."""
    changed = {path: named(name) for path, name in _of_block(block) if named(name) != name}
    return decode(replace_values(encode(block), changed)) if changed else block


def _of_block(block: Any) -> list[tuple[JsonPath, str]]:
    """A client's result lists references among its parts, a provider's has them in a member."""
    if not isinstance(block, dict):
        return []
    content = block.get("content")
    path: JsonPath = ("content",)
    if isinstance(content, dict):
        content, path = content.get("tool_references"), ("content", "tool_references")
    return [
        ((*path, at, "tool_name"), one["tool_name"])
        for at, one in enumerate(as_list(content))
        if isinstance(one, dict)
        and one.get("type") == "tool_reference"
        and isinstance(one.get("tool_name"), str)
    ]
