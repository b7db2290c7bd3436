"""What the duplicates of a tool share: its name, with less or other things said about it."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from crosswind.injectors.operators.schema.placing import drawn_place, no_parameters
from crosswind.injectors.operators.schema.wrong_parameters import wrong_parameters
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import AddedTool, Draw, Result, ToolChange, ToolTarget


class Duplicate:
    """A second tool of the same name, at a drawn place of the list."""

    description: ClassVar[Literal["none", "own", "another's"]]
    parameters: ClassVar[Literal["none", "wrong"]]

    def draw(self, target: ToolTarget, rng: Stream, severity: float) -> Draw | None:
        present, behind = rng.chance(severity), drawn_place(target, rng)
        parameters = wrong_parameters(target, rng) if self.parameters == "wrong" else no_parameters()
        description: str | None = None
        if self.description == "own":
            description = target.tool.description
        elif self.description == "another's":
            others = [tool.description for tool in target.declared if tool.name != target.tool.name]
            description = rng.choice([says for says in others if says.strip()] or [""])
        if not present or parameters is None or description == "":
            return None
        drawn: dict[str, Any] = {"description": description, "parameters": parameters, "behind": behind}
        return drawn

    def apply(self, target: ToolTarget, draw: Draw) -> Result:
        twin = AddedTool(None, draw["description"], draw["parameters"], behind=draw["behind"])
        said = {"none": "no description", "own": "its description", "another's": "another tool's description"}
        takes = "no parameters" if self.parameters == "none" else "wrong parameters"
        note = (
            f"The tool {target.tool.name} is listed a second time with {said[self.description]} and {takes}."
        )
        return Result(ToolChange(target.tool, (twin,)), note)
