"""Tools that nobody needs: unrelated ones, plausible neighbours, and newer versions that do not exist."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from crosswind.injectors.conversation import Site
from crosswind.injectors.guard.tools import LONGEST_NAME, NAME
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.model_text import check_general, read_json, read_text
from crosswind.injectors.operators.schema.added_tools import (
    add_word,
    answer_unavailable,
    complete_schema,
    draw_place,
    split_words,
)
from crosswind.injectors.operators.words.tools import DEEDS, UNRELATED, VERBS
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import AddedTool, Draw, Effect, Recovery, Result, ToolChange, ToolTarget
from crosswind.injectors.wording import UnusableText, written_form

LONGEST_DESCRIPTION = 400
KINDS = ("string", "integer", "number", "boolean")

_LAST = re.compile(r"[./:](?=[^./:]*$)")


@operator(
    "schema.bloat",
    site=Site.TOOL_SCHEMA,
    recovery=Recovery.IGNORE,
    source="beyond the papers; assistants that are connected to too many servers",
    effect=Effect.ADDS,
)
@dataclass(frozen=True)
class Bloat:
    """Unrelated tools stand among the declared ones, each with a description and a parameter of its own.

    Severity: their number per declared tool is binomial with mean `per_tool` x severity, until the pack of 32
    is used up. A call of one of them is answered that the tool isn't enabled.
    """

    per_tool: Annotated[int, Field(ge=1, le=32)] = 8
    """Added tools per declared tool at severity 1."""

    def draw(self, target: ToolTarget, rng: SeededRandom, severity: float) -> Draw | None:
        count = rng.successes(self.per_tool, severity)
        free = [name for name in rng.shuffled(list(UNRELATED)) if name not in target.taken]
        added = [[name, draw_place(target, rng)] for name in free[:count]]
        return {"added": added} if added else None

    def apply(self, target: ToolTarget, draw: Draw) -> Result:
        added = tuple(_make_tool(name, *UNRELATED[name], "string", behind) for name, behind in draw["added"])
        what = "One unrelated tool was" if len(added) == 1 else f"{len(added)} unrelated tools were"
        return Result(ToolChange(target.tool, added), f"{what} added to the list.")


@operator(
    "schema.redundant_tool",
    site=Site.TOOL_SCHEMA,
    recovery=Recovery.IGNORE,
    aliases=("redundant", "RedunTool"),
    source="RobustBench-TC, table 1 and appendices C and F (Action); by rule here, by a model there",
    effect=Effect.ADDS,
)
@dataclass(frozen=True)
class RedundantTool:
    """Plausible tools on the same things: `count_order`, `archive_order` beside `get_order`.

    Each has a purpose of its own, none does what the tool does, and a call of one is answered that it isn't
    enabled. Severity: the number of neighbours per tool is binomial with mean `num_tools` x severity.
    """

    num_tools: Annotated[int, Field(ge=1, le=8)] = 2
    """Neighbours per tool at severity 1, as in the benchmark's examples."""

    def draw(self, target: ToolTarget, rng: SeededRandom, severity: float) -> Draw | None:
        count = rng.successes(self.num_tools, severity)
        free = [
            one for one in rng.shuffled(make_neighbours(target.tool.name)) if one["name"] not in target.taken
        ]
        added = [{**one, "behind": draw_place(target, rng)} for one in free[:count]]
        return {"added": added} if added else None

    def apply(self, target: ToolTarget, draw: Draw) -> Result:
        added = tuple(_make_tool(**one) for one in draw["added"])
        names = " and ".join(one["name"] for one in draw["added"])
        return Result(ToolChange(target.tool, added), f"Beside {target.tool.name} there is {names}.")


@written_form("schema.redundant_tool")
class RedundantToolWording:
    """The model invents as many tools as the rule would add, at the same places in the list. The gateway
    answers calls of them; the guard refuses a name that is taken."""

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
        material = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        return task, json.dumps(material, ensure_ascii=False, default=str)

    def apply(self, target: ToolTarget, draw: Draw, text: str) -> Result:
        tools = read_json(text, list)
        if len(tools) < len(draw["added"]):
            raise UnusableText(
                f"the model wrote {len(tools)} tools where {len(draw['added'])} were asked for"
            )
        added = [
            {**_check_tool(tool), "behind": one["behind"]}
            for tool, one in zip(tools, draw["added"], strict=False)
        ]
        names = [tool["name"] for tool in added]
        if len(set(names)) < len(names) or target.tool.name in names:
            raise UnusableText("the model wrote one name twice")
        return RedundantTool().apply(target, {"added": added})


def _check_tool(tool: Any) -> dict[str, str]:
    members = ("name", "says", "parameter", "kind")
    if not isinstance(tool, dict) or not all(isinstance(tool.get(member), str) for member in members):
        raise UnusableText("the model wrote a tool without name, says, parameter and kind")
    if not (NAME.fullmatch(tool["name"]) and NAME.fullmatch(tool["parameter"]) and tool["kind"] in KINDS):
        raise UnusableText(f"the model wrote a tool that can't be declared ({tool['name']!r:.80})")
    return {
        **{member: tool[member] for member in members},
        "says": read_text(tool["says"], LONGEST_DESCRIPTION),
    }


def make_neighbours(name: str) -> list[dict[str, str]]:
    """Tools that could exist beside this one: other deeds on the same things, named after its pattern.

    Each has a `name`, what it `says`, its `parameter` and the parameter's `kind`.
    """
    out: list[dict[str, str]] = []
    things = " ".join(word for word in split_words(name) if word not in VERBS) or "this kind"
    for verb, purpose, parameter, kind in DEEDS:
        made = _replace_verb(name, verb)
        if made is not None and len(made) <= LONGEST_NAME:
            says = purpose.format(things=f"records of {things}")
            out.append({"name": made, "says": says, "parameter": parameter, "kind": kind})
    return out


def _replace_verb(name: str, verb: str) -> str | None:
    """The name with another verb in its own style: `get_order`, `getOrder`, `GetOrder`, `orders.get`."""
    found = _LAST.search(name)
    prefix, last = (name[: found.end()], name[found.end() :]) if found else ("", name)
    words = split_words(last)
    if not words or verb in words:
        return None
    if words[0] not in VERBS:
        return add_word(name, verb)
    if not last.lower().startswith(words[0]):
        return None
    return f"{prefix}{verb.capitalize() if last[0].isupper() else verb}{last[len(words[0]) :]}"


def _make_tool(name: str, says: str, parameter: str, kind: str, behind: str) -> AddedTool:
    properties: dict[str, Any] = {parameter: {"type": kind}}
    parameters = {"type": "object", "properties": properties, "required": [parameter]}
    return AddedTool(name, says, parameters, answer_unavailable(name), behind)


LATER = ("v2", "batch", "preview", "async", "next")
"""What a list that is out of date calls the tools that a service used to have, or was to get."""

SHORTEST = 3
"""Words of a description."""


@operator(
    "schema.ghost_tool",
    site=Site.TOOL_SCHEMA,
    recovery=Recovery.OTHER_TOOL,
    source="RobustBench-TC, appendix N (7): a future axis; there the model errs, here the list does",
    effect=Effect.ADDS,
)
class GhostTool:
    """The list advertises a newer version of a tool, and a call of it is answered "no such tool".

    It has the tool's description and parameters, so that whoever calls it can call the tool instead.
    Severity: the share of tools that have such a phantom.
    """

    def draw(self, target: ToolTarget, rng: SeededRandom, severity: float) -> Draw | None:
        present, word, behind = rng.chance(severity), rng.choice(LATER), draw_place(target, rng)
        name = add_word(target.tool.name, word)
        return {"name": name, "behind": behind} if present and name not in target.taken else None

    def apply(self, target: ToolTarget, draw: Draw) -> Result:
        return _advertise(target, draw, target.tool.description or None)


@written_form("schema.ghost_tool")
class GhostToolWording:
    """The phantom has the rule's name and place; the model's description praises it as the newer way."""

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
            raise UnusableText("the model wrote too little to describe a tool")
        check_general(says.replace(draw["name"], "").replace(target.tool.name, ""))
        return _advertise(target, draw, says)


def _advertise(target: ToolTarget, draw: Draw, description: str | None) -> Result:
    tool, name = target.tool, draw["name"]
    answer = json.dumps({"error": "unknown_tool", "message": f"no such tool: {name}"})
    phantom = AddedTool(name, description, complete_schema(tool.parameters), (answer,), draw["behind"])
    note = f"The list advertises {name}, which isn't there, beside {tool.name}."
    return Result(ToolChange(tool, (phantom,)), note)
