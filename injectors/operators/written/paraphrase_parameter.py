"""The descriptions of a tool's parameters in a model's other words."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from crosswind.injectors.operators.schema.rewording import LENGTH
from crosswind.injectors.operators.written.reading import as_long, document
from crosswind.injectors.targets import Draw, Result, ToolChange, ToolTarget
from crosswind.injectors.text import entities
from crosswind.injectors.wording import Unusable, written


@written("schema.paraphrase_parameter")
class ParaphraseParameter:
    """Those that the rule would reword, each at most a fifth longer or shorter; names, types and valid values
    aren't shown to the model, and stay."""

    ahead = False

    def ask(self, target: ToolTarget, draw: Draw, severity: float) -> tuple[str, str] | None:
        task = (
            "The material is a JSON object: parameters of a tool and their descriptions. Give it again as "
            "JSON with the same keys and each description reworded. Each must say the same: keep every "
            "constraint, number, name, quotation and technical term. Keep each length within a fifth."
        )
        properties = target.tool.parameters["properties"]
        told = {name: properties[name]["description"] for name in draw["edits"]}
        return task, json.dumps(told, ensure_ascii=False)

    def apply(self, target: ToolTarget, draw: Draw, text: str) -> Result:
        properties = dict(target.tool.parameters["properties"])
        reworded = document(text, dict)
        for name in draw["edits"]:
            before = properties[name]["description"]
            properties[name] = {**properties[name], "description": _checked(reworded.get(name), before)}
        tool = replace(target.tool, parameters={**target.tool.parameters, "properties": properties})
        return Result(ToolChange(tool), f"In {tool.name} other words describe {', '.join(draw['edits'])}.")


def _checked(description: Any, before: str) -> str:
    if not isinstance(description, str) or not description.strip():
        raise Unusable("the model left out a parameter")
    was, now = (entities.plainly_begun(text) for text in (before, description))
    if (lost := entities.survive(was, now)) is not None:
        raise Unusable(f"the model left out {lost!r:.60}")
    return as_long(description.strip(), before, LENGTH)
