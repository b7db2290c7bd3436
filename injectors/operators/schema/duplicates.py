"""A tool listed twice: its name again, with less or other things said about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from crosswind.injectors.conversation import Site
from crosswind.injectors.guard.tools import check_duplicates, find_properties
from crosswind.injectors.operator import Registered, register
from crosswind.injectors.operators.schema.added_tools import draw_place
from crosswind.injectors.operators.schema.names import list_other_names
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import AddedTool, Draw, Recovery, Result, ToolChange, ToolClass, ToolTarget
from crosswind.injectors.text.languages import UNABLE

MOST = 3
"""Wrong parameters of a duplicate."""
TYPES = ("string", "integer", "number", "boolean")


class Duplicate:
    """A second tool of the same name, at a drawn place of the list."""

    def __init__(
        self, description: Literal["none", "own", "another's"], parameters: Literal["none", "wrong"]
    ) -> None:
        self.description, self.parameters = description, parameters

    def draw(self, target: ToolTarget, rng: SeededRandom, severity: float) -> Draw | None:
        present, behind = rng.chance(severity), draw_place(target, rng)
        parameters: dict[str, Any] | None = {"type": "object", "properties": {}}
        if self.parameters == "wrong":
            parameters = _draw_wrong_parameters(target, rng)
        description = target.tool.description if self.description == "own" else None
        if self.description == "another's":
            others = [tool.description for tool in target.declared if tool.name != target.tool.name]
            description = rng.choice([says for says in others if says.strip()] or [""])
        if not present or parameters is None or description == "":
            return None
        change = ToolChange(target.tool, (AddedTool(None, description, parameters),))
        if (why := check_duplicates(target.tool_class, target.tool, change)) is not None:
            return {UNABLE: why}
        return {"description": description, "parameters": parameters, "behind": behind}

    def apply(self, target: ToolTarget, draw: Draw) -> Result:
        if UNABLE in draw:
            return Result(ToolChange(target.tool), "The tool is listed once.")
        twin = AddedTool(None, draw["description"], draw["parameters"], behind=draw["behind"])
        said = {"none": "no description", "own": "its description", "another's": "another tool's description"}
        takes = "no parameters" if self.parameters == "none" else "wrong parameters"
        note = (
            f"The tool {target.tool.name} is listed a second time with {said[self.description]} and {takes}."
        )
        return Result(ToolChange(target.tool, (twin,)), note)


def _draw_wrong_parameters(target: ToolTarget, rng: SeededRandom) -> dict[str, Any] | None:
    """Draw parameters that the tool does not take, from one to three, each near one that it or a neighbour
    takes: that one's schema under another name. None where there is nothing to go by.

    A tool that isn't a mere read might run on a call of the duplicate. So its duplicate has its own names,
    with other types, and lacks one that it requires: such a call it refuses. Where that can't be, the draw
    says why there is no duplicate.
    """
    own = find_properties(target.tool.parameters)
    names = sorted(rng.named("own").sample(sorted(own), 3))
    reads = target.tool_class is ToolClass.READ_ONLY
    if not reads and (refused := _draw_wrong_types(target, rng, own)) is not None:
        return refused
    near = {name: _draw_other_name(own[name], name, own, rng.named(name)) for name in names}
    wrong = {other: own[name] for name, other in near.items() if other is not None}
    theirs = _list_neighbours_parameters(target, own)
    if theirs and (not wrong or rng.chance(0.5)):
        name = rng.choice(sorted(theirs))
        if len(wrong) == MOST:
            del wrong[rng.choice(sorted(wrong))]
        wrong[name] = theirs[name]
    if not wrong:
        return None
    return {"type": "object", "properties": wrong, "required": [next(iter(wrong))]}


def _draw_wrong_types(target: ToolTarget, rng: SeededRandom, own: Mapping[str, Any]) -> dict[str, Any] | None:
    """Some of the tool's own parameters with other types, without one that it requires."""
    required = target.tool.parameters.get("required")
    needed = sorted(name for name in required if name in own) if isinstance(required, list) else []
    if not needed or len(own) < 2:
        return None
    missing = rng.choice(needed)
    left = [name for name in sorted(own) if name != missing]
    wrong: dict[str, Any] = {}
    for name in rng.named("own").sample(left, MOST):
        schema = own[name] if isinstance(own[name], Mapping) else {}
        kept = {key: value for key, value in schema.items() if key in ("description", "title")}
        others = [kind for kind in TYPES if kind != schema.get("type")]
        wrong[name] = {"type": rng.named(name).choice(others), **kept}
    return {"type": "object", "properties": wrong, "required": sorted(wrong)[:1]}


def _draw_other_name(schema: Any, name: str, own: Mapping[str, Any], rng: SeededRandom) -> str | None:
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    others = [other for other in list_other_names(name, kind) if other not in own]
    return rng.choice(others) if others else None


def _list_neighbours_parameters(target: ToolTarget, own: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: schema
        for tool in target.declared
        for name, schema in find_properties(tool.parameters).items()
        if name not in own
    }


def _register(
    name: str, aliases: tuple[str, ...], implementation: Duplicate, second: str, more: str = ""
) -> None:
    call = "so it reaches the agent's tool as it is"
    if implementation.parameters == "wrong":
        call = "and one that follows the wrong parameters reaches the agent's tool, which refuses it"
    documentation = (
        f"A tool is listed twice: once as it is, once {second}.\n\n"
        f"A call carries no sign which of the two was meant, {call}. Severity: the share of tools that are "
        f"listed twice.{more}"
    )
    source = "RobustBench-TC, table 1 and appendix C (Action)"
    register(
        Registered(
            name,
            Site.TOOL_SCHEMA,
            Recovery.IGNORE,
            implementation,
            aliases,
            source,
            documentation=documentation,
            version=2,
        )
    )


_register(
    "schema.duplicate_no_description",
    ("same_name_A", "Dup-NoDesc"),
    Duplicate("none", "none"),
    "without description and parameters",
)
_register(
    "schema.duplicate_description",
    ("same_name_B", "Dup-Desc"),
    Duplicate("own", "none"),
    "with its description and without parameters",
)
_register(
    "schema.duplicate_wrong_parameters",
    ("same_name_C", "Dup-WrongP"),
    Duplicate("none", "wrong"),
    "without description and with parameters that it doesn't take",
)
_register(
    "schema.duplicate_description_wrong_parameters",
    ("same_name_D", "Dup-DescWP"),
    Duplicate("own", "wrong"),
    "with its description and with parameters that it doesn't take",
)
_register(
    "schema.duplicate_swapped",
    ("same_name_E", "Dup-SwapDP"),
    Duplicate("another's", "wrong"),
    "with another tool's description and with wrong parameters",
    " A list in which no other tool has a description is left alone.",
)
