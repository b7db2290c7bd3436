"""The list of tools that a policy is shown in place of the declared ones, and how it is arranged.

`ShownTools` is data for the request, the answer and the ledger.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, ClassVar

from crosswind.injectors import registry
from crosswind.injectors.conversation import ToolSchema
from crosswind.injectors.engine.decision import Decision, Injection
from crosswind.injectors.engine.stored_data import StoredData
from crosswind.injectors.guard.tools import LONGEST_NAME, ToolConstraints
from crosswind.injectors.seeded_random import draw_once
from crosswind.injectors.targets import AddedTool, ToolChange, ToolTarget
from crosswind.injectors.text.json_payload import parse_json
from crosswind.injectors.wording import apply_draw

JSON_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "array": (list,),
    "object": (dict,),
}
"""The Python types that a value of a JSON schema's type has."""


@dataclass(frozen=True, slots=True)
class ShownTool:
    """One tool as it is shown.

    `source` is the index of the declared tool that it stands for; None: only noise put it there, and then
    `description` (None: it has none) and `parameters` are all that there is. A tool with a source gives
    `description` and `parameters` only where `changed` names them: the rest is as the client declared it.
    """

    source: int | None
    name: str
    description: str | None = None
    parameters: Mapping[str, Any] | None = None
    changed: frozenset[str] = frozenset()
    """Which of `name`, `description` and `parameters` differ from the source's."""


@dataclass(frozen=True, slots=True)
class Phantom:
    """A tool that only noise put there: a call of it never reaches the agent."""

    name: str
    answers: tuple[str, ...]

    def answer(self, calls: int) -> str:
        """The result of a call, `calls` calls of it having been answered on this branch before."""
        return self.answers[min(calls, len(self.answers) - 1)]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A declared tool that is shown with wrong types: the first call that follows them is answered inside."""

    takes: Mapping[str, str]
    """The type that the tool takes, per parameter that is shown with another one."""

    def objection(self, arguments: str) -> str | None:
        """What to answer in the agent's place to a call with these arguments (JSON text); None: the call has
        the right types, or can't be read, and goes to the agent.

        To be asked until one call was answered so on the branch; from then on every call goes to the agent.
        """
        given = parse_json(arguments)
        for name, kind in self.takes.items():
            if isinstance(given, dict) and name in given and not of_type(given[name], kind):
                has = _type_name(given[name])
                message = f"parameter '{name}' must be of type {kind}, but {has} was given"
                return json.dumps({"error": "invalid_argument_type", "message": message})
        return None


def of_type(value: Any, kind: str) -> bool:
    """Whether a JSON value is of a JSON schema's type; an unknown type takes everything."""
    if isinstance(value, bool) and kind != "boolean":
        return kind not in JSON_TYPES
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return kind not in JSON_TYPES or isinstance(value, JSON_TYPES[kind])


def _type_name(value: Any) -> str:
    return next((kind for kind in JSON_TYPES if of_type(value, kind)), "null")


@dataclass(frozen=True, slots=True)
class ShownTools(StoredData):
    """A list of tools as it is shown, with all that is needed to map calls back.

    The ledger keeps it: `to_json` leaves out `injections`, which are what one request's decisions did.
    """

    stored_as: ClassVar = "list of shown tools"

    anchor: str
    """Of the declared list; empty where nothing is perturbed."""
    tools: tuple[ShownTool, ...]
    """In the order shown."""
    declared_of: Mapping[str, str] = field(default_factory=dict)
    """The declared name by the shown name, where the two differ: renamed tools and suffixed duplicates."""
    phantoms: Mapping[str, Phantom] = field(default_factory=dict)
    """By shown name. A name is never both here and a declared tool's shown name."""
    refusals: Mapping[str, Refusal] = field(default_factory=dict)
    """By the shown name of the tool."""
    decisions: tuple[Decision, ...] = ()
    """All that were made for the session's tools so far, those of dropped tools included."""
    decided: tuple[str, ...] = ()
    """The anchors of the tools that were decided about, tools that are shown clean included."""
    partial: bool = False
    """Whether something may be left out for this request only (several choices, a tool that tool_choice
    names): then it isn't what the next request is shown."""
    injections: tuple[Injection, ...] = ()

    @property
    def shown_of(self) -> dict[str, str]:
        """The shown name by the declared name, for the tools that are renamed: what history and tool_choice
        need."""
        return {
            self.declared_of[tool.name]: tool.name
            for tool in self.tools
            if tool.source is not None and "name" in tool.changed
        }

    @property
    def untouched(self) -> bool:
        """Whether the list is shown as the client declared it."""
        return all(tool.source == at and not tool.changed for at, tool in enumerate(self.tools))

    @staticmethod
    def clean(tools: Sequence[ToolSchema]) -> ShownTools:
        return ShownTools("", tuple(ShownTool(at, tool.name) for at, tool in enumerate(tools)))

    def to_json(self) -> dict[str, Any]:
        """What the ledger keeps, as JSON data."""
        # The members of parameters keep their order: the policy is to meet the same bytes again.
        data = StoredData.to_json(self)
        for tool in data["tools"]:
            tool["changed"] = sorted(tool["changed"])
        del data["injections"]
        return data


@dataclass(slots=True)
class PerturbedTool:
    source: int
    declared: ToolSchema
    tool: ToolSchema
    added: list[AddedTool] = field(default_factory=list)
    behind: list[str] = field(default_factory=list)
    order: list[str] = field(default_factory=list)
    takes: dict[str, str] = field(default_factory=dict)

    def take(self, change: ToolChange) -> None:
        self.tool = change.tool
        self.added += change.added
        self.takes.update(change.takes)
        if change.behind is not None:
            self.behind.append(change.behind)
        if change.order is not None:
            self.order.append(change.order)


_Entry = tuple[PerturbedTool, AddedTool | None]
"""One place in the list: a declared tool, or one that was added because of it."""


def redo_change(decision: Decision, tool: ToolSchema) -> ToolChange | None:
    """Apply a stored decision to a tool again. None where its operator isn't installed, or fails."""
    entry = registry.operators().get(decision.operator)
    if entry is None:
        return None
    try:
        payload = apply_draw(entry, ToolTarget(tool), decision.draw).payload
    except Exception:
        # Noise must never break traffic: what can't be applied is shown clean.
        return None
    return payload if isinstance(payload, ToolChange) else None


def build_shown_tools(rows: Sequence[PerturbedTool], constraints: ToolConstraints) -> ShownTools:
    """Put the list together, without what this request can't have: added tools and wrong types where several
    choices are requested, duplicates and wrong types of a tool that tool_choice names."""
    _settle_names(rows, constraints.taken)
    true_names = {one.tool.name for one in rows}
    taken = true_names | {one.declared.name for one in rows} | constraints.taken
    out: list[ShownTool] = []
    declared_of: dict[str, str] = {}
    phantoms: dict[str, Phantom] = {}
    refusals: dict[str, Refusal] = {}
    for one, added in _order(rows):
        name = one.tool.name
        if added is None:
            held = constraints.choices > 1 or one.declared.name in constraints.forced
            out.append(_show(one, truthful=held))
            if name != one.declared.name:
                declared_of[name] = one.declared.name
            if one.takes and not held:
                refusals[name] = Refusal(dict(one.takes))
        elif constraints.choices > 1 or (added.name is None and one.declared.name in constraints.forced):
            continue  # Nobody could answer its calls, or tool_choice would be ambiguous.
        elif added.name is None:
            if constraints.duplicates == "suffixed":
                name = _add_suffix(name, taken)
                taken.add(name)
                declared_of[name] = one.declared.name
            out.append(_show_added(name, added))
        elif added.name not in true_names | constraints.taken and added.name not in phantoms:
            out.append(_show_added(added.name, added))
            phantoms[added.name] = Phantom(added.name, added.answers)
    return ShownTools("", tuple(out), declared_of, phantoms, refusals)


def _settle_names(rows: Sequence[PerturbedTool], others: frozenset[str]) -> None:
    """Let declared names win over new names (those of other kinds of tools, too), and the first of two equal
    new names over the second. The loser keeps its declared name."""
    declared = {one.declared.name for one in rows} | others
    given: set[str] = set()
    for one in rows:
        if one.tool.name != one.declared.name and (one.tool.name in declared or one.tool.name in given):
            one.tool = ToolSchema(one.declared.name, one.tool.description, one.tool.parameters)
        given.add(one.tool.name)


def _order(rows: Sequence[PerturbedTool]) -> list[_Entry]:
    entries: list[_Entry] = [(one, None) for one in rows]
    # Moves come before additions: an added tool stands behind the place where its neighbour ends up.
    for one in rows:
        for behind in one.behind:
            entries.remove((one, None))
            entries.insert(_place(entries, behind), (one, None))
    for one in rows:
        for added in one.added:
            entries.insert(_place(entries, added.behind), (one, added))
    seed = next((order for one in rows for order in one.order), None)
    if seed is None:
        return entries
    # Each tool has a rank of its own, so that the others keep their order when one comes or goes.
    ranks = [
        draw_once(f"{seed}|{added.name if added else one.declared.name}|{added is None}")
        for one, added in entries
    ]
    return [entries[at] for _, at in sorted(zip(ranks, range(len(entries)), strict=True))]


def _place(entries: Sequence[_Entry], behind: str) -> int:
    """The index behind a declared tool: the end, if it isn't declared any more."""
    if not behind:
        return 0
    found = (
        at + 1 for at, (one, added) in enumerate(entries) if added is None and one.declared.name == behind
    )
    return next(found, len(entries))


def _show(one: PerturbedTool, *, truthful: bool) -> ShownTool:
    parameters = one.declared.parameters if truthful and one.takes else one.tool.parameters
    differs: dict[str, Any] = {}
    if one.tool.description != one.declared.description:
        differs["description"] = one.tool.description
    if parameters != one.declared.parameters:
        differs["parameters"] = parameters
    changed = {*differs, "name"} if one.tool.name != one.declared.name else {*differs}
    return ShownTool(one.source, one.tool.name, **differs, changed=frozenset(changed))


def _show_added(name: str, added: AddedTool) -> ShownTool:
    members = frozenset(("name", "description", "parameters"))
    return ShownTool(None, name, added.description, added.parameters, members)


def _add_suffix(name: str, taken: set[str]) -> str:
    suffixes = (f"_{number}" for number in count(2))
    candidates = (f"{name[: LONGEST_NAME - len(suffix)]}{suffix}" for suffix in suffixes)
    return next(candidate for candidate in candidates if candidate not in taken)
