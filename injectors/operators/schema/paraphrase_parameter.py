"""The descriptions of a tool's parameters in other words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.schema.rewording import rewordings
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, Recovery, Result, ToolChange, ToolTarget
from crosswind.injectors.text.edits import edited
from crosswind.injectors.text.languages import unable


@operator(
    "schema.paraphrase_parameter",
    site=Site.TOOL_SCHEMA,
    recovery=Recovery.NONE_NEEDED,
    aliases=("paraphrase_parameter_description", "ParamPara"),
    source="RobustBench-TC, table 1 and appendices C and F (Observation); by rule here, by a model there",
)
class ParaphraseParameter:
    """The parameters' descriptions mean what they meant, in other words, each of about the same length.

    Names, types and valid values stay. Severity: the share of the rewordable phrases that are reworded.
    English only: of another language the event is withdrawn, unless a model writes.
    """

    def draw(self, target: ToolTarget, rng: Stream, severity: float) -> Draw | None:
        told = {name: one["description"] for name, one in _described(target.tool.parameters).items()}
        found = {name: rewordings(text, (target.tool,), rng, severity) for name, text in told.items()}
        edits = {name: one for name, one in found.items() if one}
        if not edits and rng.chance(severity):
            return unable("\n".join(told.values()), {"edits": {name: [] for name in told}})
        return {"edits": edits} if edits else None

    def apply(self, target: ToolTarget, draw: Draw) -> Result:
        parameters = target.tool.parameters
        reworded = {
            name: {**schema, "description": edited(schema["description"], draw["edits"].get(name, ()))}
            for name, schema in _described(parameters).items()
        }
        properties = {**parameters.get("properties", {}), **reworded}
        tool = replace(target.tool, parameters={**parameters, "properties": properties})
        names = ", ".join(draw["edits"])
        return Result(ToolChange(tool), f"In {tool.name} other words describe {names}.")


def _described(parameters: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The parameters that have a description, by name."""
    properties = parameters.get("properties")
    return {
        name: schema
        for name, schema in (properties.items() if isinstance(properties, Mapping) else ())
        if isinstance(schema, Mapping) and isinstance(schema.get("description"), str)
    }
