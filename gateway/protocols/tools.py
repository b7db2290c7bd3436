"""The tools that clients declare, and their choice of tools. Clients resend both with every turn."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from crosswind.gateway.protocols.json_values import decode, encode
from crosswind.injectors.conversation import ToolList, ToolSchema

ReadTools = Callable[[Any], list[ToolSchema]]
"""Reads the decoded `tools` member of a protocol; never raises."""
Tools = tuple[ToolSchema, ...]

MOST_LISTS, MOST_BYTES = 64, 1 << 23
"""Lists of tools that are kept, and bytes of them."""


class ToolListCache:
    """The lists of tools read lately, for all sessions: an agent's sessions declare the same ones, and what
    is worked out for a list is kept by the list object.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[ReadTools, bytes], Tools] = OrderedDict()
        self._bytes = 0

    def read(self, read: ReadTools, raw: bytes | None) -> Tools:
        """The tools that a member declares: the same object for all equal members. None: there is none."""
        if raw is None:
            return ()
        key = read, raw
        found = self._kept.pop(key, None)
        if found is None:
            found = _read_tools(read, raw)
            self._bytes += len(raw)
        self._kept[key] = found
        while self._bytes > MOST_BYTES or len(self._kept) > MOST_LISTS:
            (_, oldest), _ = self._kept.popitem(last=False)
            self._bytes -= len(oldest)
        return found


TOOL_LISTS = ToolListCache()


def _read_tools(read: ReadTools, raw: bytes) -> Tools:
    try:
        return ToolList(read(decode(raw)))
    except ValueError:
        return ()


_NOT_FUNCTIONS = ("mcp", "custom")
"""Types of tools that a `tool_choice` may name, and that are no functions."""


def rename_tool_choice(raw: bytes, names: Mapping[str, str]) -> bytes:
    """A `tool_choice` with the tools that it names under other names (declared -> shown)."""
    value = decode(raw)
    mapped = map_tool_choice(value, lambda name: names.get(name, name))
    return raw if mapped == value else encode(mapped)


def tool_choice_names(choice: Any) -> frozenset[str]:
    """The functions that a `tool_choice` names."""
    names: list[str] = []

    def take(name: str) -> str:
        names.append(name)
        return name

    map_tool_choice(choice, take)
    return frozenset(names)


def map_tool_choice(choice: Any, name_of: Callable[[str], str]) -> Any:
    """A `tool_choice` with its functions under other names."""
    if isinstance(choice, dict):
        if choice.get("type") in _NOT_FUNCTIONS:
            return choice
        return {
            key: name_of(one) if key == "name" and isinstance(one, str) else map_tool_choice(one, name_of)
            for key, one in choice.items()
        }
    return [map_tool_choice(one, name_of) for one in choice] if isinstance(choice, list) else choice
