"""The protocol-neutral view of a conversation. Codecs build it; operators see nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, ClassVar, Self

import msgspec

from crosswind.injectors.identity import digest


class Site(StrEnum):
    """Where in the traffic an operator acts."""

    INSTRUCTIONS = "instructions"
    """A system prompt: that of a model that plays the user."""
    USER_TEXT = "user_text"
    TOOL_SCHEMA = "tool_schema"
    TOOL_RESULT = "tool_result"
    TRANSPORT = "transport"
    MODEL_RESPONSE = "model_response"


class Ref(msgspec.Struct, frozen=True, gc=False):
    """Where a text stands in the raw document: the message's index and the content part's (None: a plain
    string)."""

    message: int
    part: int | None = None


class ToolCall(msgspec.Struct, frozen=True, gc=False):
    """A call that the policy made earlier in this conversation. `arguments` is JSON text."""

    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolHints:
    """What MCP's annotations of a tool say of it. None: nothing."""

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None

    @staticmethod
    def of(annotations: Any) -> ToolHints | None:
        """The hints among annotations as MCP writes them; None where there are none."""
        if not isinstance(annotations, Mapping):
            return None
        names = ("readOnlyHint", "destructiveHint", "idempotentHint")
        given = [value if isinstance(value := annotations.get(name), bool) else None for name in names]
        return None if given == [None] * len(names) else ToolHints(*given)


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """A tool that the client declared. `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    hints: ToolHints | None = field(default=None, compare=False)


class ToolList(tuple[ToolSchema, ...]):
    """The declared tools. What follows from a list is worked out once, as long as the same list is used
    again: codecs give the same one for equal bytes."""

    @staticmethod
    def of(tools: Iterable[ToolSchema]) -> ToolList:
        """The tools as such a list: itself, if they are one."""
        return tools if isinstance(tools, ToolList) else ToolList(tools)

    def __reduce__(self) -> tuple[type[Self], tuple[tuple[ToolSchema, ...]]]:
        # Without what is cached: the process that reads the list computes its own.
        return type(self), (tuple(self),)

    @cached_property
    def anchors(self) -> list[str]:
        """The anchor of each tool, which depends on what it says and not on how its JSON is spelt."""
        seen: Counter[str] = Counter()
        out: list[str] = []
        for tool in self:
            says = digest(tool.name, tool.description, _canonical(tool.parameters))
            out.append(f"tool:{says}#{seen[says]}")
            seen[says] += 1
        return out

    @cached_property
    def anchor(self) -> str:
        """The anchor of the list: equal for lists that say the same in the same order."""
        return f"tools:{digest(*self.anchors)}"

    @cached_property
    def key(self) -> ToolListKey:
        """By which what follows from the list is cached."""
        return ToolListKey(self)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The name of each tool."""
        return tuple(tool.name for tool in self)

    @cached_property
    def classes(self) -> dict[str, Any]:
        """By name, the classes of its tools (`ToolClass`) that were asked for (`guard.tool_classes`)."""
        return {}

    def named(self, name: str) -> ToolList:
        """The tools of that name, as a list of their own; empty where there is none."""
        return self._by_name.get(name, _NO_TOOLS)

    @cached_property
    def _by_name(self) -> dict[str, ToolList]:
        named: dict[str, list[ToolSchema]] = {}
        for tool in self:
            named.setdefault(tool.name, []).append(tool)
        return {name: ToolList(tools) for name, tools in named.items()}

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """The names and enumerated values that the tools declare, in lower case."""
        words = {tool.name.lower() for tool in self}
        pending: list[Any] = [dict(tool.parameters) for tool in self]
        while pending:
            part = pending.pop()
            if isinstance(part, dict):
                properties, values = part.get("properties"), part.get("enum")
                if isinstance(properties, dict):
                    words.update([str(key).lower() for key in properties])
                for value in values if isinstance(values, list) else ():
                    if isinstance(value, str):
                        words.update(value.lower().split())
                part = part.values()
            pending += [one for one in part if isinstance(one, _CONTAINERS)]
        return frozenset(words)


class ToolListKey(str):
    """A tool list that is equal to another one which says the same: what follows from it can be cached. As a
    string, its anchor, it is looked up without a call of Python."""

    tools: ToolList

    def __new__(cls, tools: ToolList) -> Self:
        self = super().__new__(cls, tools.anchor)
        self.tools = tools
        return self

    def __reduce__(self) -> tuple[type[Self], tuple[ToolList]]:
        return type(self), (self.tools,)


def _canonical(parameters: Mapping[str, Any]) -> str:
    try:
        # Not the standard library's encoder, which takes ten times as long.
        return msgspec.json.encode(parameters, order="sorted").decode()
    except (RecursionError, TypeError, UnicodeEncodeError):
        return ""  # A list that nobody could write down is shown clean.


_CONTAINERS = (dict, list)
"""Of JSON values."""
_NO_TOOLS = ToolList()


class Item(msgspec.Struct, frozen=True, gc=False):
    """A text on which operators act. `ordinal` counts those of its kind along the branch, from 0."""

    site: ClassVar[Site]
    """The site of the operators that act on it."""
    ref: Ref
    text: str
    anchor: str
    ordinal: int


class UserText(Item, frozen=True, gc=False):
    """A text part of a user message. `ordinal` counts the messages."""

    site: ClassVar = Site.USER_TEXT


class InstructionText(Item, frozen=True, gc=False):
    """A text of a request's system prompt."""

    site: ClassVar = Site.INSTRUCTIONS


class ToolResult(Item, frozen=True, gc=False):
    """A text part of a tool's result, with the call that it answers."""

    site: ClassVar = Site.TOOL_RESULT
    call: ToolCall
    logical_call: str


@dataclass(frozen=True, slots=True)
class Conversation:
    """What operators may see of a request: its perturbable items in order, and the declared tools."""

    items: tuple[UserText | ToolResult, ...]
    tools: tuple[ToolSchema, ...] = ()
    held: int = 0
    """The messages before this one are not part of the request: their items count, and can't be changed."""
