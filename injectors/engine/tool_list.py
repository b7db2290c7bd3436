"""A list of tools as it is shown, put together from the declared list and the decisions about its tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from crosswind.injectors import registry
from crosswind.injectors.conversation import ToolSchema
from crosswind.injectors.engine.decision import Decision
from crosswind.injectors.engine.shown_tools import Phantom, Refusal, ShownTool
from crosswind.injectors.guard.tools import Asked
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import AddedTool, ToolChange, ToolTarget
from crosswind.injectors.wording import applied

LONGEST_NAME = 64


@dataclass(slots=True)
class Standing:
    """A declared tool with what has become of it."""

    source: int
    declared: ToolSchema
    tool: ToolSchema
    added: list[AddedTool] = field(default_factory=list)
    behind: list[str] = field(default_factory=list)
    order: list[str] = field(default_factory=list)
    takes: dict[str, str] = field(default_factory=dict)

    def meets(self, change: ToolChange) -> None:
        """Take a change on."""
        self.tool = change.tool
        self.added += change.added
        self.takes.update(change.takes)
        if change.behind is not None:
            self.behind.append(change.behind)
        if change.order is not None:
            self.order.append(change.order)


def change_by(decision: Decision, tool: ToolSchema) -> ToolChange | None:
    """What a stored decision makes of a tool: no stream is needed. None where its operator isn't there, or
    fails."""
    entry = registry.operators().get(decision.operator)
    if entry is None:
        return None
    try:
        payload = applied(entry, ToolTarget(tool), decision.draw).payload
    except Exception:
        # Noise must never break traffic: what can't be applied is shown clean.
        return None
    return payload if isinstance(payload, ToolChange) else None


@dataclass(frozen=True, slots=True)
class Arranged:
    """The list as shown, without what it came from."""

    tools: tuple[ShownTool, ...]
    declared_of: Mapping[str, str]
    phantoms: Mapping[str, Phantom]
    refusals: Mapping[str, Refusal]


def arrange(standing: Sequence[Standing], asked: Asked) -> Arranged:
    """Put the list together.

    Left out is what this request can't have: added tools and wrong types where several choices are asked for,
    duplicates and wrong types of a tool that tool_choice names.
    """
    _settle_names(standing, asked.taken)
    true_names = {one.tool.name for one in standing}
    taken = true_names | {one.declared.name for one in standing} | asked.taken
    out: list[ShownTool] = []
    declared_of: dict[str, str] = {}
    phantoms: dict[str, Phantom] = {}
    refusals: dict[str, Refusal] = {}
    for one, added in _in_order(standing):
        name = one.tool.name
        if added is None:
            held = asked.choices > 1 or one.declared.name in asked.forced
            out.append(_shown(one, truthful=held))
            if name != one.declared.name:
                declared_of[name] = one.declared.name
            if one.takes and not held:
                refusals[name] = Refusal(dict(one.takes))
        elif asked.choices > 1 or (added.name is None and one.declared.name in asked.forced):
            continue  # Nobody could answer its calls, or tool_choice would be ambiguous.
        elif added.name is None:
            if asked.duplicates == "suffixed":
                name = _suffixed(name, taken)
                taken.add(name)
                declared_of[name] = one.declared.name
            out.append(_extra(name, added))
        elif added.name not in true_names | asked.taken and added.name not in phantoms:
            out.append(_extra(added.name, added))
            phantoms[added.name] = Phantom(added.name, added.answers)
    return Arranged(tuple(out), declared_of, phantoms, refusals)


def _settle_names(standing: Sequence[Standing], others: frozenset[str]) -> None:
    """A declared name, one of another kind of tool's too, goes before a new name, and the first of two equal
    new names before the second: the other tool keeps its own name."""
    declared = {one.declared.name for one in standing} | others
    given: set[str] = set()
    for one in standing:
        if one.tool.name != one.declared.name and (one.tool.name in declared or one.tool.name in given):
            one.tool = ToolSchema(one.declared.name, one.tool.description, one.tool.parameters)
        given.add(one.tool.name)


def _in_order(standing: Sequence[Standing]) -> Iterator[tuple[Standing, AddedTool | None]]:
    row: list[tuple[Standing, AddedTool | None]] = [(one, None) for one in standing]
    for one in standing:
        for behind in one.behind:
            _take_out(row, one)
            row.insert(_place(row, behind), (one, None))
    for one in standing:
        for added in one.added:
            row.insert(_place(row, added.behind), (one, added))
    orders = [order for one in standing for order in one.order]
    if not orders:
        return iter(row)
    ranked = [
        (Stream(f"{orders[0]}|{added.name if added else one.declared.name}|{added is None}").uniform(), at)
        for at, (one, added) in enumerate(row)
    ]
    return iter([row[at] for _, at in sorted(ranked)])


def _take_out(row: list[tuple[Standing, AddedTool | None]], one: Standing) -> None:
    del row[next(at for at, (other, added) in enumerate(row) if other is one and added is None)]


def _place(row: Sequence[tuple[Standing, AddedTool | None]], behind: str) -> int:
    """Where a tool comes that stands behind that declared tool: last where it isn't declared any more."""
    if not behind:
        return 0
    found = (at + 1 for at, (one, added) in enumerate(row) if added is None and one.declared.name == behind)
    return next(found, len(row))


def _shown(one: Standing, *, truthful: bool) -> ShownTool:
    parameters = one.declared.parameters if truthful and one.takes else one.tool.parameters
    differs: dict[str, Any] = {}
    if one.tool.description != one.declared.description:
        differs["description"] = one.tool.description
    if parameters != one.declared.parameters:
        differs["parameters"] = parameters
    changed = {*differs, "name"} if one.tool.name != one.declared.name else {*differs}
    return ShownTool(one.source, one.tool.name, **differs, changed=frozenset(changed))


def _extra(name: str, added: AddedTool) -> ShownTool:
    members = frozenset(("name", "description", "parameters"))
    return ShownTool(None, name, added.description, added.parameters, members)


def _suffixed(name: str, taken: set[str]) -> str:
    number = 2
    while True:
        suffix = f"_{number}"
        candidate = f"{name[: LONGEST_NAME - len(suffix)]}{suffix}"
        if candidate not in taken:
            return candidate
        number += 1
