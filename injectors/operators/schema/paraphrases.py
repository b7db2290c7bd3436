"""Descriptions of tools and of their parameters in other words, about as long, with their facts in place."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from crosswind.injectors.conversation import Site
from crosswind.injectors.guard.tools import find_properties
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.model_text import check_length, read_json, read_text
from crosswind.injectors.operators.schema.rewording import LENGTH, draw_edits
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, ToolChange, ToolTarget
from crosswind.injectors.text.edits import apply_edits
from crosswind.injectors.text.languages import is_foreign, mark_unable
from crosswind.injectors.wording import UnusableText, written_form


@operator(
    "schema.paraphrase_tool",
    site=Site.TOOL_SCHEMA,
    recovery=Recovery.NONE_NEEDED,
    aliases=("paraphrase_tool_description", "ToolPara"),
    source="RobustBench-TC, table 1 and appendices C and F (Observation); by rule here, by a model there",
    effect=Effect.REWORDS,
    version=3,
)
class ParaphraseTool:
    """The description says the same in other words, and is at most a fifth longer or shorter.

    Its opening takes another form ("Gets", "Use this to get", "Tool for getting"), and phrases give way to
    others that mean the same. Numbers, names, quoted and technical terms stay, and so does every word that
    limits. Severity: the share of the rewordable phrases that are reworded. English only: in another language
    the event is withheld, unless a model writes.
    """

    def draw(self, target: ToolTarget, rng: SeededRandom, severity: float) -> Draw | None:
        if is_foreign(target.tool.description):
            return mark_unable(target.tool.description, {"edits": []}) if rng.chance(severity) else None
        edits = draw_edits(target.tool.description, (target.tool,), rng, severity)
        return {"edits": edits} if edits else None

    def apply(self, target: ToolTarget, draw: Draw) -> Result:
        return _with_description(target, apply_edits(target.tool.description, draw["edits"]))


@written_form("schema.paraphrase_tool")
class ParaphraseToolWording:
    """RobustBench-TC, appendix F: reworded, at most a fifth longer or shorter, every constraint kept. The
    guard refuses a text that lost a number, a name or a technical term."""

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
        reworded = read_text(text, 200 + 2 * len(before), like=before)
        return _with_description(target, check_length(reworded, before, LENGTH))


@operator(
    "schema.paraphrase_parameter",
    site=Site.TOOL_SCHEMA,
    recovery=Recovery.NONE_NEEDED,
    aliases=("paraphrase_parameter_description", "ParamPara"),
    source="RobustBench-TC, table 1 and appendices C and F (Observation); by rule here, by a model there",
    effect=Effect.REWORDS,
    version=2,
)
class ParaphraseParameter:
    """The parameters' descriptions say the same in other words, each at about the same length.

    Names, types and valid values stay. Severity: the share of the rewordable phrases that are reworded.
    English only: in another language the event is withheld, unless a model writes.
    """

    def draw(self, target: ToolTarget, rng: SeededRandom, severity: float) -> Draw | None:
        before = _descriptions(target.tool.parameters)
        said = "\n".join((target.tool.description, *(text for _, text in sorted(before.items()))))
        if before and is_foreign(said):
            return (
                mark_unable(said, {"edits": {name: [] for name in sorted(before)}})
                if rng.chance(severity)
                else None
            )
        found = {
            name: draw_edits(text, (target.tool,), rng.named(name), severity, parameter=True)
            for name, text in sorted(before.items())
        }
        edits = {name: one for name, one in found.items() if one}
        return {"edits": edits} if edits else None

    def apply(self, target: ToolTarget, draw: Draw) -> Result:
        before = _descriptions(target.tool.parameters)
        return _with_parameters(
            target, {name: apply_edits(before[name], one) for name, one in draw["edits"].items()}
        )


@written_form("schema.paraphrase_parameter")
class ParaphraseParameterWording:
    """The model rewords the descriptions that the rule would reword, each at most a fifth longer or shorter.
    It doesn't see names, types and valid values, and they stay."""

    ahead = False

    def ask(self, target: ToolTarget, draw: Draw, severity: float) -> tuple[str, str] | None:
        task = (
            "The material is a JSON object: parameters of a tool and their descriptions. Give it again as "
            "JSON with the same keys and each description reworded. Each must say the same: keep every "
            "constraint, number, name, quotation and technical term. Keep each length within a fifth."
        )
        before = _descriptions(target.tool.parameters)
        return task, json.dumps({name: before[name] for name in draw["edits"]}, ensure_ascii=False)

    def apply(self, target: ToolTarget, draw: Draw, text: str) -> Result:
        before, after = _descriptions(target.tool.parameters), read_json(text, dict)
        return _with_parameters(
            target, {name: _check_description(after.get(name), before[name]) for name in draw["edits"]}
        )


def _check_description(description: Any, before: str) -> str:
    if not isinstance(description, str) or not description.strip():
        raise UnusableText("the model left out a parameter")
    return check_length(description.strip(), before, LENGTH)


def _descriptions(parameters: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: schema["description"]
        for name, schema in find_properties(parameters).items()
        if isinstance(schema, Mapping) and isinstance(schema.get("description"), str)
    }


def _with_description(target: ToolTarget, description: str) -> Result:
    tool = replace(target.tool, description=description)
    return Result(ToolChange(tool), f"The description of {tool.name} is in other words.")


def _with_parameters(target: ToolTarget, descriptions: Mapping[str, str]) -> Result:
    parameters = target.tool.parameters
    properties = dict(parameters["properties"])
    for name, description in descriptions.items():
        properties[name] = {**properties[name], "description": description}
    tool = replace(target.tool, parameters={**parameters, "properties": properties})
    return Result(ToolChange(tool), f"In {tool.name} other words describe {', '.join(descriptions)}.")
