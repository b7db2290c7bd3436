"""Descriptions of tools and of their parameters in other words, about as long, with their facts in place."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from crosswind.injectors.conversation import Site, ToolSchema
from crosswind.injectors.guard.tools import find_properties
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.model_text import check_length, read_json, read_text
from crosswind.injectors.operators.words.synonyms import IN_DESCRIPTIONS, LIKELY_VERBS, SURE_VERBS
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, ToolChange, ToolTarget
from crosswind.injectors.text import entities
from crosswind.injectors.text.edits import apply_edits, compile_phrases, find_unprotected, make_edit, touches
from crosswind.injectors.text.languages import mark_unable
from crosswind.injectors.wording import UnusableText, written_form

LENGTH = 0.2
"""The share of its length by which a description may grow or shrink."""

_PHRASE = compile_phrases(*IN_DESCRIPTIONS)


def _third_person(verb: str) -> str:
    if verb.endswith("y") and verb[-2] not in "aeou":
        return f"{verb[:-1]}ies"
    return f"{verb}es" if verb.endswith(("ch", "sh", "s", "x")) else f"{verb}s"


# A description may begin "Cancels an order." or "Cancel an order.": each form of the verb maps to the other.
_OTHER_FORM = {
    one: other
    for verb in (*SURE_VERBS, *LIKELY_VERBS)
    for one, other in ((verb, _third_person(verb)), (_third_person(verb), verb))
}


def _any_form(verbs: Sequence[str]) -> str:
    return "|".join((*verbs, *map(_third_person, verbs)))


_OPENING = re.compile(
    rf"\s*((?:{_any_form(SURE_VERBS)})\b(?=\s)"
    rf"|(?:{_any_form(LIKELY_VERBS)})\b(?=\s+(?:a|an|the|all|its|up|one|this|your)\b))",
    re.IGNORECASE,
)


@operator(
    "schema.paraphrase_tool",
    site=Site.TOOL_SCHEMA,
    recovery=Recovery.NONE_NEEDED,
    aliases=("paraphrase_tool_description", "ToolPara"),
    source="RobustBench-TC, table 1 and appendices C and F (Observation); by rule here, by a model there",
    effect=Effect.REWORDS,
)
class ParaphraseTool:
    """The description says the same in other words, and is at most a fifth longer or shorter.

    Numbers, names, quoted and technical terms stay, and so does every word that limits. Severity: the
    share of the rewordable phrases that are reworded. English only: in another language the event is
    withheld, unless a model writes.
    """

    def draw(self, target: ToolTarget, rng: SeededRandom, severity: float) -> Draw | None:
        edits = _draw_edits(target.tool.description, (target.tool,), rng, severity)
        if not edits and rng.chance(severity):
            return mark_unable(target.tool.description, {"edits": []})
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
)
class ParaphraseParameter:
    """The parameters' descriptions say the same in other words, each at about the same length.

    Names, types and valid values stay. Severity: the share of the rewordable phrases that are reworded.
    English only: in another language the event is withheld, unless a model writes.
    """

    def draw(self, target: ToolTarget, rng: SeededRandom, severity: float) -> Draw | None:
        before = _descriptions(target.tool.parameters)
        found = {name: _draw_edits(text, (target.tool,), rng, severity) for name, text in before.items()}
        edits = {name: one for name, one in found.items() if one}
        if not edits and rng.chance(severity):
            return mark_unable("\n".join(before.values()), {"edits": {name: [] for name in before}})
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


def _draw_edits(
    text: str, tools: Sequence[ToolSchema], rng: SeededRandom, severity: float
) -> list[dict[str, Any]]:
    """Draw the edits that reword a share `severity` of the rewordable phrases, within the bound on length."""
    out: list[dict[str, Any]] = []
    growth = 0
    for at, word, others in _find_rewordable(text, tools):
        chosen, other = rng.chance(severity), rng.choice(others)
        other = other[0].upper() + other[1:] if word[0].isupper() else other
        change = len(other) - len(word)
        if chosen and abs(growth + change) <= max(1.0, LENGTH * len(text)):
            growth += change
            out.append(make_edit(at, word, other))
    return out


def _find_rewordable(text: str, tools: Sequence[ToolSchema]) -> Iterator[tuple[int, str, Sequence[str]]]:
    """Where a word or phrase stands that can be reworded, and what can stand in its place."""
    protected = entities.find_protected_spans(entities.lower_openings(text), tools)
    found = list(find_unprotected(_PHRASE, text, protected))
    opening = _OPENING.match(text)
    # The opening verb changes its form only where no phrase of ours covers it.
    if opening and not (found and found[0].start() <= opening.start(1)):
        word = opening.group(1)
        if not touches(protected, *opening.span(1)):
            yield opening.start(1), word, (_OTHER_FORM[word.lower()],)
    for match in found:
        yield match.start(), match.group(), IN_DESCRIPTIONS[match.group().lower()]
