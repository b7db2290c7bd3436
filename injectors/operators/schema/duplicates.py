"""A tool listed twice: its name again, with less or other things said about it."""

from __future__ import annotations

from typing import Any, Literal

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import Registered, register
from crosswind.injectors.operators.schema.added_tools import draw_place
from crosswind.injectors.operators.words.tools import FOREIGN_PARAMETERS
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import AddedTool, Draw, Recovery, Result, ToolChange, ToolTarget


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
        return {"description": description, "parameters": parameters, "behind": behind}

    def apply(self, target: ToolTarget, draw: Draw) -> Result:
        twin = AddedTool(None, draw["description"], draw["parameters"], behind=draw["behind"])
        said = {"none": "no description", "own": "its description", "another's": "another tool's description"}
        takes = "no parameters" if self.parameters == "none" else "wrong parameters"
        note = (
            f"The tool {target.tool.name} is listed a second time with {said[self.description]} and {takes}."
        )
        return Result(ToolChange(target.tool, (twin,)), note)


def _draw_wrong_parameters(target: ToolTarget, rng: SeededRandom) -> dict[str, Any] | None:
    """Draw parameters that the tool does not take: as many as its own, from one to three. None where all the
    names that we have are its own."""
    own = set(target.tool.parameters.get("properties") or {})
    free = [one for one in FOREIGN_PARAMETERS if one[0] not in own]
    chosen = rng.sample(free, max(1, min(len(own), 3)))
    properties = {name: {"type": kind, "description": says} for name, kind, says in chosen}
    if not properties:
        return None
    return {"type": "object", "properties": properties, "required": [chosen[0][0]]}


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
