"""A tool's description in a model's other words."""

from __future__ import annotations

from dataclasses import replace

from crosswind.injectors.operators.schema.rewording import LENGTH
from crosswind.injectors.operators.written.reading import as_long, said
from crosswind.injectors.targets import Draw, Result, ToolChange, ToolTarget
from crosswind.injectors.wording import written


@written("schema.paraphrase_tool")
class ParaphraseTool:
    """RobustBench-TC, appendix F: reworded, at most a fifth longer or shorter, every constraint kept. The
    guard refuses one that lost a number, a name or a technical term."""

    ahead = False

    def ask(self, target: ToolTarget, draw: Draw, severity: float) -> tuple[str, str] | None:
        task = (
            "Reword this description of a tool. It must say the same: keep every constraint, and every "
            "number, name, quotation and technical term exactly and in the same order. Keep its length "
            "within a fifth."
        )
        return task, target.tool.description

    def apply(self, target: ToolTarget, draw: Draw, text: str) -> Result:
        before = target.tool.description
        reworded = as_long(said(text, 200 + 2 * len(before), like=before), before, LENGTH)
        tool = replace(target.tool, description=reworded)
        return Result(ToolChange(tool), f"The description of {tool.name} is in other words.")
