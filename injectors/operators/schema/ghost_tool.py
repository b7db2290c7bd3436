"""An advertised tool that isn't there."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.schema.naming import in_style
from crosswind.injectors.operators.schema.phantom import no_such_tool
from crosswind.injectors.operators.schema.placing import drawn_place, of_object
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import AddedTool, Draw, Recovery, Result, ToolChange, ToolTarget

LATER = ("v2", "batch", "preview", "async", "next")
"""What a list that has gone out of date calls the tools that a service used to have, or was to get."""


@operator(
    "schema.ghost_tool",
    site=Site.TOOL_SCHEMA,
    recovery=Recovery.OTHER_TOOL,
    source="RobustBench-TC, appendix N (7): a future axis; there the model errs, here the list does",
)
class GhostTool:
    """The list advertises a newer version of a tool, and a call of it is answered "no such tool".

    It has the tool's description and parameters, so that whoever calls it can call the tool instead.
    Severity: the share of tools that have such a ghost.
    """

    def draw(self, target: ToolTarget, rng: Stream, severity: float) -> Draw | None:
        present, word, behind = rng.chance(severity), rng.choice(LATER), drawn_place(target, rng)
        name = in_style(target.tool.name, word)
        return {"name": name, "behind": behind} if present and name not in target.taken else None

    def apply(self, target: ToolTarget, draw: Draw) -> Result:
        tool, name = target.tool, draw["name"]
        parameters = of_object(tool.parameters)
        ghost = AddedTool(name, tool.description or None, parameters, no_such_tool(name), draw["behind"])
        note = f"The list advertises {name}, which isn't there, beside {tool.name}."
        return Result(ToolChange(tool, (ghost,)), note)
