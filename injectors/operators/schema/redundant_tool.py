"""Neighbours of a tool that serve other purposes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.schema.neighbours import neighbours
from crosswind.injectors.operators.schema.phantom import unavailable
from crosswind.injectors.operators.schema.placing import drawn_place
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import AddedTool, Draw, Recovery, Result, ToolChange, ToolTarget


@operator(
    "schema.redundant_tool",
    site=Site.TOOL_SCHEMA,
    recovery=Recovery.IGNORE,
    aliases=("redundant", "RedunTool"),
    source="RobustBench-TC, table 1 and appendices C and F (Action); by rule here, by a model there",
)
@dataclass(frozen=True)
class RedundantTool:
    """Plausible tools on the same things: `count_order`, `archive_order` beside `get_order`.

    Each has a purpose of its own, none does what the tool does, and a call of one is told that it isn't
    enabled. Severity: the number of neighbours per tool is binomial with mean `num_tools` x severity.
    """

    num_tools: Annotated[int, Field(ge=1, le=8)] = 2
    """Neighbours per tool at severity 1, as in the benchmark's examples."""

    def draw(self, target: ToolTarget, rng: Stream, severity: float) -> Draw | None:
        count = sum(rng.chance(severity) for _ in range(self.num_tools))
        found = [one for one in rng.shuffled(neighbours(target.tool.name)) if one["name"] not in target.taken]
        added = [{**one, "behind": drawn_place(target, rng)} for one in found[:count]]
        return {"added": added} if added else None

    def apply(self, target: ToolTarget, draw: Draw) -> Result:
        added = tuple(_tool(**one) for one in draw["added"])
        names = " and ".join(tool.name or "" for tool in added)
        return Result(ToolChange(target.tool, added), f"Beside {target.tool.name} there is {names}.")


def _tool(name: str, says: str, parameter: str, kind: str, behind: str) -> AddedTool:
    properties: dict[str, Any] = {parameter: {"type": kind}}
    parameters = {"type": "object", "properties": properties, "required": [parameter]}
    return AddedTool(name, says, parameters, unavailable(name), behind)
