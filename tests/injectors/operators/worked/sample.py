"""A sample as the papers show one, and what a policy sees of it under a profile."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from crosswind.injectors.conversation import ToolSchema
from crosswind.injectors.engine.messages import perturb_messages
from crosswind.injectors.engine.plan import Plan
from crosswind.injectors.engine.tools import perturb_tools
from crosswind.injectors.guard.corrections import correct
from tests.injectors.dialogues import call, conversation
from tests.injectors.plans import plan_of


@dataclass(frozen=True, slots=True)
class Sample:
    """A query, the tools at hand, and one call with its result. The call is made twice."""

    query: str
    tools: tuple[Mapping[str, Any], ...]
    called: str
    arguments: Mapping[str, Any]
    result: str


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as it is shown; `true` names the declared tool that it stands for (None: none)."""

    name: str
    description: str | None
    parameters: Mapping[str, Any]
    true: str | None


@dataclass(frozen=True, slots=True)
class View:
    """What the policy sees: the query, the tools, and the results of the call and of its repetition."""

    query: str
    tools: tuple[Tool, ...]
    first: str
    again: str
    corrected: str
    """The query with each value that it corrects behind back in its place."""

    @property
    def declared(self) -> dict[str, Tool]:
        """What stands for each declared tool."""
        return {tool.true: tool for tool in self.tools if tool.true is not None}

    @property
    def only_noise(self) -> list[Tool]:
        """The tools that only noise put there."""
        return [tool for tool in self.tools if tool.true is None]


def tool(name: str, says: str, **parameters: str) -> dict[str, Any]:
    """A declared tool whose parameters are strings that say so."""
    properties = {key: {"type": "string", "description": text} for key, text in parameters.items()}
    schema = {"type": "object", "properties": properties, "required": list(parameters)}
    return {"type": "function", "function": {"name": name, "description": says, "parameters": schema}}


def view(sample: Sample, yaml_or_profile: str, seed: int = 0) -> View:
    """The sample under a built-in profile, or under the YAML of one; under `off` it is unchanged.
    Its tools are declared read-only: only such tools have duplicates that say other things.
    """
    made = replace(plan_of(yaml_or_profile, seed), tool_classes={"*": "read_only"})
    calls = [one for at in range(2) for one in call(sample.called, sample.arguments, sample.result, at)]
    messages = [{"role": "user", "content": sample.query}, *calls]
    read = conversation(messages, sample.tools)
    new = perturb_messages(made, read, {}).new
    query, first, again = (one.item.text if one.text is None else one.text for one in new)
    corrected = query
    for decision in reversed(new[0].decisions):
        corrected = correct(corrected, decision.draw)
    return View(query, _tools(made, read.tools), first, again, corrected)


def _tools(made: Plan, declared: Sequence[ToolSchema]) -> tuple[Tool, ...]:
    found = []
    for one in perturb_tools(made, declared).tools:
        if one.source is None:
            found.append(Tool(one.name, one.description, one.parameters or {}, None))
            continue
        was = declared[one.source]
        says = one.description if "description" in one.changed else was.description
        takes = one.parameters if "parameters" in one.changed else was.parameters
        found.append(Tool(one.name, says, takes or {}, was.name))
    return tuple(found)


def words(text: str) -> list[str]:
    return re.findall(r"[\w.#'’-]*\w", text)


def in_order(before: str, after: str) -> bool:
    """Whether all words of the one stand in the other, in their order."""
    remaining = iter(words(after))
    return all(word in remaining for word in words(before))


def values(text: str) -> dict[str, Any] | None:
    """The JSON object in a result, or None."""
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
