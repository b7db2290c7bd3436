"""The tools that a client declares, read once per wording: clients resend them with every turn."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from crosswind.gateway.protocols.document import decode, encode
from crosswind.injectors.cli import documents
from crosswind.injectors.conversation import ToolList, ToolSchema
from crosswind.injectors.engine.tool_list import ShownTool

ReadTools = Callable[[Any], list[ToolSchema]]
"""Reads the decoded `tools` member of a protocol; never raises."""
Tools = tuple[ToolSchema, ...]

MOST_WORDINGS, MOST_BYTES = 64, 1 << 23
"""Lists of tools that are kept, and bytes of them."""


class ToolReader:
    """Remembers a session's last wording."""

    def __init__(self, read: ReadTools) -> None:
        self._read = read
        self._raw = b""
        self._tools: Tools = ()

    def read(self, raw: bytes | None) -> Tools:
        """The tools of a body's member as it stands; None: it has none."""
        if raw is None:
            return ()
        if raw != self._raw:
            self._raw, self._tools = _WORDINGS.read(self._read, raw)
        return self._tools


class ToolListCache:
    """Lists of tools that were read lately, for all sessions: an agent's sessions declare the same ones, and
    what is worked out for a list is kept by the list.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[ReadTools, bytes], tuple[bytes, Tools]] = OrderedDict()
        self._bytes = 0

    def read(self, read: ReadTools, raw: bytes) -> tuple[bytes, Tools]:
        """A wording, and the tools that it declares: the same objects for all who have it."""
        key = read, raw
        found = self._kept.pop(key, None)
        if found is None:
            found = raw, _readable(read, raw)
            self._bytes += len(raw)
        self._kept[key] = found
        while self._bytes > MOST_BYTES or len(self._kept) > MOST_WORDINGS:
            (_, oldest), _ = self._kept.popitem(last=False)
            self._bytes -= len(oldest)
        return found


_WORDINGS = ToolListCache()


def _readable(read: ReadTools, raw: bytes) -> Tools:
    try:
        return ToolList(read(decode(raw)))
    except ValueError:
        return ()


def as_list(declared: Any) -> list[Any]:
    """A `tools` member's elements; none, where it is no array."""
    return declared if isinstance(declared, list) else []


def make_tool_schema(tool: Mapping[str, Any], parameters: Any) -> ToolSchema:
    """A tool whose `name` is a string, with what else is as it should be."""
    description = tool.get("description")
    return ToolSchema(
        tool["name"],
        description if isinstance(description, str) else "",
        parameters if isinstance(parameters, dict) else {},
    )


def changed_members(tool: ShownTool, *, parameters: str) -> dict[str, Any]:
    """The members of a shown tool that differ from the declared one's; all, where it has no source.
    `parameters` is the protocol's name of the schema.
    """
    members: dict[str, Any] = {}
    if "name" in tool.changed:
        members["name"] = tool.name
    if "description" in tool.changed and tool.description is not None:
        members["description"] = tool.description
    if "parameters" in tool.changed and tool.parameters is not None:
        members[parameters] = tool.parameters
    return members


def arrange_tools(declared: Sequence[tuple[bytes, bool]], shown: Sequence[bytes]) -> bytes:
    """An array of tools: those of other kinds (True) stay at their place, the shown ones take the other
    places in order, and those that are too many come last.
    """
    rest = iter(shown)
    out = [element if other else next(rest, None) for element, other in declared]
    return b"[" + b",".join([*(one for one in out if one is not None), *rest]) + b"]"


_OTHERS = ("mcp", "custom")
"""Types of tools that a `tool_choice` may name, and that are no functions."""


def other_tool_names(tools: bytes, is_function: Callable[[Any], bool]) -> frozenset[str]:
    """The names of declared tools that are no functions."""
    declared = as_list(decode(tools))
    return documents.other_names(
        tool for tool in declared if isinstance(tool, dict) and not is_function(tool)
    )


def rename_tool_choice(raw: bytes, names: Mapping[str, str]) -> bytes:
    """A `tool_choice` with the tools that it names under other names (declared -> shown)."""
    value = decode(raw)
    mapped = map_tool_choice(value, lambda name: names.get(name, name))
    return raw if mapped == value else encode(mapped)


def tool_choice_names(choice: Any) -> frozenset[str]:
    """The tools that a `tool_choice` names."""
    if isinstance(choice, dict):
        if choice.get("type") in _OTHERS:
            return frozenset()
        name = choice.get("name")
        own = [name] if isinstance(name, str) else []
        return frozenset(own).union(*(tool_choice_names(value) for value in choice.values()))
    if isinstance(choice, list):
        return frozenset().union(*(tool_choice_names(value) for value in choice))
    return frozenset()


def map_tool_choice(choice: Any, name_of: Callable[[str], str]) -> Any:
    """A `tool_choice` with its functions under other names."""
    if isinstance(choice, dict):
        if choice.get("type") in _OTHERS:
            return choice
        return {
            key: name_of(one) if key == "name" and isinstance(one, str) else map_tool_choice(one, name_of)
            for key, one in choice.items()
        }
    return [map_tool_choice(one, name_of) for one in choice] if isinstance(choice, list) else choice
