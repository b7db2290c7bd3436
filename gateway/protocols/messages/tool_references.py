"""Messages: references to tools, by which a search loads deferred ones. Clients search, and providers.

Providers refuse a reference to a tool that isn't declared: each side is given the names that it knows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from crosswind.gateway.protocols.document import decode, encode
from crosswind.gateway.protocols.splicing import JsonPath, replace_values


def find_references(content: Any) -> Mapping[JsonPath, str]:
    """The names that a message's content refers to, by their paths in the message."""
    found: dict[JsonPath, str] = {}
    for at, block in enumerate(content if isinstance(content, list) else []):
        for path, name in _of_block(block):
            found["content", at, *path] = name
    return found


def rename_references(block: dict[str, Any], named: Callable[[str], str]) -> dict[str, Any]:
    """A block of an answer with its references under other names; the very same where none is."""
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
        for at, one in enumerate(content if isinstance(content, list) else [])
        if isinstance(one, dict)
        and one.get("type") == "tool_reference"
        and isinstance(one.get("tool_name"), str)
    ]
