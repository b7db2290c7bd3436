"""Many tools that have nothing to do with the task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.schema.phantom import unavailable
from crosswind.injectors.operators.schema.placing import drawn_place
from crosswind.injectors.operators.schema.unrelated import UNRELATED
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import AddedTool, Draw, Recovery, Result, ToolChange, ToolTarget


@operator(
    "schema.bloat",
    site=Site.TOOL_SCHEMA,
    recovery=Recovery.IGNORE,
    source="beyond the papers; assistants that are connected to too many servers",
)
@dataclass(frozen=True)
class Bloat:
    """Unrelated tools stand among the declared ones, each with a description and a parameter of its own.

    Severity: their number per declared tool is binomial with mean `per_tool` x severity, until the pack of 32
    is used up. A call of one of them is told that it isn't enabled.
    """

    per_tool: Annotated[int, Field(ge=1, le=32)] = 8
    """Added tools per declared tool at severity 1."""

    def draw(self, target: ToolTarget, rng: Stream, severity: float) -> Draw | None:
        count = sum(rng.chance(severity) for _ in range(self.per_tool))
        free = [name for name in rng.shuffled(list(UNRELATED)) if name not in target.taken]
        added = [[name, drawn_place(target, rng)] for name in free[:count]]
        return {"added": added} if added else None

    def apply(self, target: ToolTarget, draw: Draw) -> Result:
        added = tuple(_tool(name, behind) for name, behind in draw["added"])
        what = "One unrelated tool was" if len(added) == 1 else f"{len(added)} unrelated tools were"
        return Result(ToolChange(target.tool, added), f"{what} added to the list.")


def _tool(name: str, behind: str) -> AddedTool:
    says, parameter = UNRELATED[name]
    properties: dict[str, Any] = {parameter: {"type": "string"}}
    parameters = {"type": "object", "properties": properties, "required": [parameter]}
    return AddedTool(name, says, parameters, unavailable(name), behind)
