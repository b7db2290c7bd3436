"""An advertised tool that doesn't exist."""

from __future__ import annotations

import json

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.model_text import check_general, read_text
from crosswind.injectors.operators.schema.added_tools import add_word, complete_schema, draw_place
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import AddedTool, Draw, Recovery, Result, ToolChange, ToolTarget
from crosswind.injectors.wording import Unusable, written_form

LATER = ("v2", "batch", "preview", "async", "next")
"""What a list that is out of date calls the tools that a service used to have, or was to get."""

SHORTEST = 3
"""Words of a description."""


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

    def draw(self, target: ToolTarget, rng: SeededRandom, severity: float) -> Draw | None:
        present, word, behind = rng.chance(severity), rng.choice(LATER), draw_place(target, rng)
        name = add_word(target.tool.name, word)
        return {"name": name, "behind": behind} if present and name not in target.taken else None

    def apply(self, target: ToolTarget, draw: Draw) -> Result:
        return _advertise(target, draw, target.tool.description or None)


@written_form("schema.ghost_tool")
class GhostToolWording:
    """The ghost has the rule's name and place; the model's description praises it as the newer way."""

    ahead = False

    def ask(self, target: ToolTarget, draw: Draw, severity: float) -> tuple[str, str] | None:
        task = (
            f"The material describes the tool {target.tool.name}. Describe {draw['name']}, a newer variant "
            "of it that does the same, in one or two sentences such as a service's documentation has. Name "
            "nothing in particular."
        )
        return task, target.tool.description

    def apply(self, target: ToolTarget, draw: Draw, text: str) -> Result:
        says = read_text(text, 600)
        if len(says.split()) < SHORTEST:
            raise Unusable("the model wrote too little to describe a tool")
        check_general(says.replace(draw["name"], "").replace(target.tool.name, ""))
        return _advertise(target, draw, says)


def _advertise(target: ToolTarget, draw: Draw, description: str | None) -> Result:
    tool, name = target.tool, draw["name"]
    answer = json.dumps({"error": "unknown_tool", "message": f"no such tool: {name}"})
    ghost = AddedTool(name, description, complete_schema(tool.parameters), (answer,), draw["behind"])
    note = f"The list advertises {name}, which isn't there, beside {tool.name}."
    return Result(ToolChange(tool, (ghost,)), note)
