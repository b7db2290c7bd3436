"""A tool's description in other words."""

from __future__ import annotations

from dataclasses import replace

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.schema.rewording import rewordings
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, Recovery, Result, ToolChange, ToolTarget
from crosswind.injectors.text.edits import edited
from crosswind.injectors.text.languages import unable


@operator(
    "schema.paraphrase_tool",
    site=Site.TOOL_SCHEMA,
    recovery=Recovery.NONE_NEEDED,
    aliases=("paraphrase_tool_description", "ToolPara"),
    source="RobustBench-TC, table 1 and appendices C and F (Observation); by rule here, by a model there",
)
class ParaphraseTool:
    """The description means what it meant, in other words, and is at most a fifth longer or shorter.

    Numbers, names, quoted and technical terms stay, and so does every word that limits. Severity: the
    share of the rewordable phrases that are reworded. English only: of another language the event is
    withdrawn, unless a model writes.
    """

    def draw(self, target: ToolTarget, rng: Stream, severity: float) -> Draw | None:
        edits = rewordings(target.tool.description, (target.tool,), rng, severity)
        if not edits and rng.chance(severity):
            return unable(target.tool.description, {"edits": []})
        return {"edits": edits} if edits else None

    def apply(self, target: ToolTarget, draw: Draw) -> Result:
        tool = replace(target.tool, description=edited(target.tool.description, draw["edits"]))
        return Result(ToolChange(tool), f"The description of {tool.name} is in other words.")
