"""The guard for tool schemas: the true tool stays callable, and what is said of it stays true."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from crosswind.injectors.conversation import ToolSchema
from crosswind.injectors.targets import AddedTool, ToolChange, ToolClass, ToolTarget
from crosswind.injectors.text import entities

LONGEST_NAME = 64
NAME = re.compile(rf"[a-zA-Z0-9_-]{{1,{LONGEST_NAME}}}")
"""A tool name that every provider takes."""

MOST_TOOLS = 128
"""Providers refuse longer lists."""

DEEPEST = 64
"""Levels of nesting; the schemas of tools have a handful."""

_OWN_NAME = re.compile(r"[\w./:-]{1,128}")
"""What a name may be beside a client's own name that is no NAME."""


@dataclass(frozen=True, slots=True)
class ToolConstraints:
    """The limits that a request sets to what its tools can become."""

    choices: int = 1
    """How many answers are requested."""
    forced: frozenset[str] = field(default_factory=frozenset)
    """Declared names that tool_choice names."""
    duplicates: str = "allowed"
    """Whether the upstream takes two tools of one name: `allowed`, or `suffixed`."""
    strict: frozenset[str] = field(default_factory=frozenset)
    """Declared names of tools to whose schemas the provider holds the model."""
    taken: frozenset[str] = field(default_factory=frozenset)
    """Names of tools of other kinds, such as the provider's own: calls by these names are not ours."""


def check_change(
    target: ToolTarget, declared_name: str, change: ToolChange, constraints: ToolConstraints, shown: int
) -> str | None:
    """Why this change may not be shown, or None. `shown` counts the tools that are shown so far."""
    reasons = chain(
        _out_of_place(change, declared_name, constraints, shown),
        _bad_change(target, declared_name, change),
        (_bad_addition(tool, target, declared_name, constraints) for tool in change.added),
    )
    return next((reason for reason in reasons if reason is not None), None)


def check_shown(declared: ToolSchema, change: ToolChange, takes: Mapping[str, str]) -> str | None:
    """Why the tool may not be shown as this change leaves it, all changes before it considered, or None.

    `takes` are the types that those changes have hidden, per parameter.
    """
    whole = replace(change, takes={**takes, **change.takes})
    return _find_lost_fact(declared, change.tool) or _untrue(declared.parameters, whole)


def _find_lost_fact(declared: ToolSchema, shown: ToolSchema) -> str | None:
    """What the tool's or a parameter's description no longer says, as a refusal."""
    texts: list[tuple[str, str, tuple[ToolSchema, ...]]] = [
        (declared.description, shown.description, (declared,))
    ]
    if shown.parameters is not declared.parameters:
        now = find_properties(shown.parameters)
        texts += [
            (_description(one), _description(now.get(name)), ())
            for name, one in find_properties(declared.parameters).items()
        ]
    for before, after, tools in texts:
        if before != after:
            was, said = entities.lower_openings(before), entities.lower_openings(after)
            if (lost := entities.find_lost(was, said, tools)) is not None:
                return f"the description would have lost {lost!r:.60}"
    return None


def _description(schema: Any) -> str:
    found = schema.get("description") if isinstance(schema, Mapping) else None
    return found if isinstance(found, str) else ""


def too_deep(schema: Any) -> bool:
    level = [schema]
    for _ in range(DEEPEST):
        if not level:
            return False
        level = [inner for outer in level for inner in _inside(outer)]
    return bool(level)


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list) else ()


def _out_of_place(
    change: ToolChange, declared_name: str, constraints: ToolConstraints, shown: int
) -> Iterator[str | None]:
    """What the request has against it."""
    if constraints.choices > 1 and (change.added or change.takes):
        yield "several choices were asked for, and calls can be answered inside only where one was"
    if change.added and shown + len(change.added) > MOST_TOOLS:
        yield f"the list would have had more than {MOST_TOOLS} tools"
    if change.takes and declared_name in constraints.strict | constraints.forced:
        yield f"the provider holds calls of {declared_name} to its schema: a wrong type could not be mended"


def _bad_change(target: ToolTarget, declared_name: str, change: ToolChange) -> Iterator[str | None]:
    """What is wrong with what becomes of the true tool."""
    before, after = target.tool, change.tool
    if after.name != before.name:
        if sum(tool.name == declared_name for tool in target.declared) > 1:
            yield f"{declared_name} is declared twice, so a call could not be told apart"
        if after.name in target.taken:
            yield f"the name {after.name} is taken"
        yield _bad_name(after.name, before.name)
    if bool(before.description.strip()) != bool(after.description.strip()):
        yield "the description would have come or gone"
    yield _find_lost_fact(before, after)
    yield _untrue(before.parameters, change)


def check_duplicates(tool_class: ToolClass, declared: ToolSchema, change: ToolChange) -> str | None:
    """Why a duplicate that says other things may not stand beside this tool, or None.

    A call of the duplicate reaches the agent's tool, whatever the model meant by it. So only a tool that is
    read-only may lend its name to another tool's description or parameters, whatever the profile assumes;
    another one's duplicate may leave things out, if the tool refuses a call without them.
    """
    if tool_class is ToolClass.READ_ONLY:
        return None
    own = (declared.description, change.tool.description)
    for tool in change.added:
        if tool.name is not None:
            continue
        kind = f"the tool is of class {tool_class.value}"
        if tool.description is not None and tool.description not in own:
            return f"{kind}, and a call meant for another tool's description would run it"
        if set(find_properties(tool.parameters)) - set(find_properties(declared.parameters)):
            return f"{kind}, and a call meant for other parameters would run it"
        if not set(_names(declared.parameters.get("required"))) - set(find_properties(tool.parameters)):
            return f"{kind}, and takes calls that follow the duplicate"
    return None


def _bad_name(name: str, beside: str) -> str | None:
    fits = NAME.fullmatch(name) if NAME.fullmatch(beside) else _OWN_NAME.fullmatch(name)
    return None if fits else f"{name!r:.80} is no name that every provider takes"


def _bad_addition(
    tool: AddedTool, target: ToolTarget, declared_name: str, constraints: ToolConstraints
) -> str | None:
    if tool.parameters.get("type") != "object" or not isinstance(tool.parameters.get("properties"), Mapping):
        return "the added tool's parameters are no JSON schema of an object"
    if tool.name is None:
        if declared_name in constraints.forced:
            return f"tool_choice names {declared_name}, and two tools of that name would be ambiguous"
        return None
    if not tool.answers:
        return "the added tool has no answer to its calls"
    if tool.name in target.taken and tool.name != target.tool.name:
        return f"the name {tool.name} is taken"
    return _bad_name(tool.name, target.tool.name)


def _untrue(before: Mapping[str, Any], change: ToolChange) -> str | None:
    after = change.tool.parameters
    if after is before:
        return None
    was, now = _skeleton(before), _skeleton(after)
    for name, kind in change.takes.items():
        declared, shown = find_properties(was).get(name), find_properties(now).get(name)
        if not isinstance(declared, dict) or not isinstance(shown, dict) or declared.get("type") != kind:
            return f"the tool takes no {name!r:.60} of type {kind}"
        declared.clear()
        shown.clear()
    return None if was == now else "the parameters would have been untrue"


def _skeleton(schema: Any, names: bool = False) -> Any:
    """A schema without its descriptions. `names`: the keys are parameters' names, not keywords."""
    if isinstance(schema, Mapping):
        return {
            key: _skeleton(value, names=not names and key in ("properties", "$defs", "definitions"))
            for key, value in schema.items()
            if names or key != "description" or not isinstance(value, str)
        }
    return [_skeleton(value) for value in schema] if isinstance(schema, list) else schema


def find_properties(schema: Any) -> Mapping[str, Any]:
    """The `properties` of a JSON schema; empty where it has none, or odd ones."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    return properties if isinstance(properties, Mapping) else {}


def _names(value: Any) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []
