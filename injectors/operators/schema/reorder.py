"""Tools moved to other places in the list."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, ToolChange, ToolTarget


@operator(
    "schema.reorder",
    site=Site.TOOL_SCHEMA,
    recovery=Recovery.NONE_NEEDED,
    source="beyond the papers",
    effect=Effect.REWORDS,
)
class Reorder:
    """Tools are moved to other places in the list; nothing else changes.

    Severity: the share of tools that are moved. Each goes behind another tool or to the front, all equally
    likely.
    """

    def draw(self, target: ToolTarget, rng: SeededRandom, severity: float) -> Draw | None:
        moved = rng.chance(severity)
        places = ["", *(tool.name for tool in target.declared if tool.name != target.tool.name)]
        return {"behind": rng.choice(places)} if moved and len(places) > 1 else None

    def apply(self, target: ToolTarget, draw: Draw) -> Result:
        place = f"behind {draw['behind']}" if draw["behind"] else "to the front"
        note = f"The tool {target.tool.name} was moved {place}."
        return Result(ToolChange(target.tool, behind=draw["behind"]), note)
