"""The list of tools in MCP: reading it, and showing it with schema noise.

A tool that mirrors arguments into headers (`x-mcp-header`) is left alone: a client drops a tool whose
annotation it can't follow, and the server refuses a call whose headers don't match.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from crosswind.gateway.tools.leg import SHOWN
from crosswind.gateway.tools.mcp_results import Members
from crosswind.injectors.conversation import ToolHints, ToolList, ToolSchema
from crosswind.injectors.engine.decision import Injection
from crosswind.injectors.engine.tool_list import Phantom, Refusal, ShownTools

_MIRRORED = b'"x-mcp-header"'
_read_list = msgspec.json.Decoder(list[msgspec.Raw]).decode
_read_members = msgspec.json.Decoder(Members).decode
_read = msgspec.json.Decoder().decode
_write = msgspec.json.Encoder().encode


@dataclass(slots=True)
class ToolListView:
    """One page of a server's tools."""

    raw: list[msgspec.Raw]
    declared: list[ToolSchema]
    tools: list[ToolSchema]
    """Those that noise may act on."""
    kept: list[tuple[int, msgspec.Raw]]
    """The others, with their places."""
    names: frozenset[str]
    outputs: dict[str, Any]
    """The output schemas, by tool."""
    _members: list[Members]

    @staticmethod
    def read(members: Members) -> ToolListView:
        """Raises msgspec.DecodeError or UnicodeError where the members are no list of tools."""
        raw = _read_list(members["tools"])
        view = ToolListView(raw, [], [], [], frozenset(), {}, [])
        names = set[str]()
        for at, one in enumerate(raw):
            tool = _read_members(one)
            name = _read(tool.get("name", msgspec.Raw(b"null")))
            schema = _read(tool.get("inputSchema", msgspec.Raw(b"null")))
            if not isinstance(name, str) or not isinstance(schema, dict):
                view.kept.append((at, one))
                continue
            described = _read(tool["description"]) if "description" in tool else ""
            hints = ToolHints.of(_read(tool["annotations"])) if "annotations" in tool else None
            text = described if isinstance(described, str) else ""
            names.add(name)
            view.declared.append(ToolSchema(name, text, schema, hints))
            if _MIRRORED in bytes(one):
                view.kept.append((at, one))
            else:
                view.tools.append(view.declared[-1])
                view._members.append(tool)
            if "outputSchema" in tool:
                view.outputs[name] = _read(tool["outputSchema"])
        view.names = frozenset(names)
        return view

    def write(self, shown: ShownTools) -> msgspec.Raw:
        """The list as it is shown. What noise left alone keeps its bytes."""
        places = {at for at, _ in self.kept}
        own = [raw for at, raw in enumerate(self.raw) if at not in places]
        out: list[Any] = []
        for one in shown.tools:
            if one.source is not None and not one.changed:
                out.append(own[one.source])
                continue
            tool: dict[str, Any] = {} if one.source is None else dict(self._members[one.source])
            if one.source is None or "name" in one.changed:
                tool["name"] = one.name
            if "description" in one.changed and one.description is not None:
                tool["description"] = one.description
            if "parameters" in one.changed:
                tool["inputSchema"] = one.parameters
            out.append(tool)
        for at, raw in self.kept:
            out.insert(min(at, len(out)), raw)
        return msgspec.Raw(_write(out))


@dataclass(slots=True)
class ToolNames:
    """How the tools that a client was shown map to the server's, over all pages."""

    declared_of: dict[str, str] = field(default_factory=dict)
    phantoms: dict[str, Phantom] = field(default_factory=dict)
    refusals: dict[str, Refusal] = field(default_factory=dict)

    @staticmethod
    def recorded(told: Iterable[Mapping[str, Any]]) -> ToolNames:
        """The names that events of the list tell: a client goes on with them after a restart."""
        names = ToolNames()
        for one in told:
            try:
                given = msgspec.convert(one, _Told)
            except msgspec.ValidationError:
                continue  # Whoever delivers a relay's events may write anything.
            names.declared_of |= given.declared_of
            names.phantoms |= {
                name: Phantom(name, answers) for name, answers in given.phantoms.items() if answers
            }
            names.refusals |= {name: Refusal(takes) for name, takes in given.refusals.items()}
        return names

    def learn(self, shown: ShownTools, names: frozenset[str]) -> None:
        """Take note of a page. `names` are those that the server declares on it."""
        for name in names:
            self.declared_of.pop(name, None)
            self.phantoms.pop(name, None)
            self.refusals.pop(name, None)
        self.declared_of |= shown.declared_of
        self.phantoms |= shown.phantoms
        self.refusals |= shown.refusals


class _Told(msgspec.Struct, omit_defaults=True):
    """What an event tells of `ToolNames`."""

    declared_of: dict[str, str] = {}
    phantoms: dict[str, tuple[str, ...]] = {}
    refusals: dict[str, dict[str, str]] = {}


def tell_names(one: Injection, shown: ShownTools) -> Injection:
    """The injection with the names that calls of its tool have on this list."""
    if one.after is None:
        return one
    own = {shown_as for shown_as, name in shown.declared_of.items() if name == one.tool}
    added = {tool["name"] for tool in _read(one.after)}
    told = _Told(
        {name: shown.declared_of[name] for name in own},
        {name: phantom.answers for name, phantom in shown.phantoms.items() if name in added},
        {name: dict(one.takes) for name, one in shown.refusals.items() if name in added},
    )
    if not (names := msgspec.to_builtins(told)):
        return one
    draw = {**one.decision.draw, SHOWN: names}
    return msgspec.structs.replace(one, decision=msgspec.structs.replace(one.decision, draw=draw))


def merge_pages(known: ToolList, page: Sequence[ToolSchema], *, first: bool) -> ToolList:
    """The server's tools with those of a page; the first page replaces them."""
    if first:
        return ToolList(page)
    names = {tool.name for tool in page}
    return ToolList([*(tool for tool in known if tool.name not in names), *page])
