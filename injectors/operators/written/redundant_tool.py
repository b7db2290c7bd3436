"""Neighbours of a tool that a model thinks of."""

from __future__ import annotations

import json
from typing import Any

from crosswind.injectors.guard.tools import NAME
from crosswind.injectors.operators.schema.redundant_tool import RedundantTool as ByRule
from crosswind.injectors.operators.written.reading import document, said
from crosswind.injectors.targets import Draw, Result, ToolTarget
from crosswind.injectors.wording import Unusable, written

LONGEST = 400
KINDS = ("string", "integer", "number", "boolean")


@written("schema.redundant_tool")
class RedundantTool:
    """As many as the rule would add, in its places in the list. A call of one is answered inside, whatever it
    is called; the guard refuses a name that is taken."""

    ahead = False

    def ask(self, target: ToolTarget, draw: Draw, severity: float) -> tuple[str, str] | None:
        task = (
            f"The material is a tool. Think of {len(draw['added'])} others of the same service on the same "
            "kind of thing, each with another purpose: none may do what this one does or give what it gives. "
            'Answer with a JSON array of objects {"name", "says", "parameter", "kind"}: a name in the style '
            "of the tool's own, what it does in a sentence, the name of its parameter, and one of "
            f"{', '.join(KINDS)}."
        )
        tool = target.tool
        told = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        return task, json.dumps(told, ensure_ascii=False, default=str)

    def apply(self, target: ToolTarget, draw: Draw, text: str) -> Result:
        tools = document(text, list)
        if len(tools) < len(draw["added"]):
            raise Unusable(f"the model wrote {len(tools)} tools where {len(draw['added'])} were asked for")
        added = [
            {**_checked(tool), "behind": one["behind"]}
            for tool, one in zip(tools, draw["added"], strict=False)
        ]
        names = [tool["name"] for tool in added]
        if len(set(names)) < len(names) or target.tool.name in names:
            raise Unusable("the model wrote one name twice")
        return ByRule().apply(target, {"added": added})


def _checked(tool: Any) -> dict[str, str]:
    members = ("name", "says", "parameter", "kind")
    if not isinstance(tool, dict) or not all(isinstance(tool.get(member), str) for member in members):
        raise Unusable("the model wrote a tool without name, says, parameter and kind")
    if not (NAME.fullmatch(tool["name"]) and NAME.fullmatch(tool["parameter"]) and tool["kind"] in KINDS):
        raise Unusable(f"the model wrote a tool that can't be declared ({tool['name']!r:.80})")
    return {**{member: tool[member] for member in members}, "says": said(tool["says"], LONGEST)}
