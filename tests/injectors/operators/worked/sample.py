"""A sample as the papers show one, and what a policy sees of it under a profile."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from crosswind.injectors.cli.documents import conversation
from crosswind.injectors.conversation import UserText
from crosswind.injectors.engine.decide import perturb
from crosswind.injectors.engine.plan import Seed, make_plan
from crosswind.injectors.engine.tools import perturb_tools
from crosswind.injectors.profiles import load as profile
from tests.injectors.dialogues import call


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


def seen(sample: Sample, profile_or_yaml: str, seed: int = 0) -> View:
    """The sample under a built-in profile, or under the YAML of one; under `off` it is as it is."""
    known = profile.parse(profile_or_yaml, "t") if "\n" in profile_or_yaml else profile.load(profile_or_yaml)
    plan = make_plan(known, Seed(seed, "g", "group"))
    calls = [
        message for at in range(2) for message in call(sample.called, sample.arguments, sample.result, at)
    ]
    view = conversation([{"role": "user", "content": sample.query}, *calls], sample.tools)
    after = perturb(plan, view, {}).new
    texts = [one.item.text if one.text is None else one.text for one in after]
    assert isinstance(after[0].item, UserText) and len(texts) == 3
    return View(texts[0], _tools(plan, view), *texts[1:])


def _tools(plan: Any, view: Any) -> tuple[Tool, ...]:
    found = []
    for one in perturb_tools(plan, view.tools).tools:
        if one.source is None:
            found.append(Tool(one.name, one.description, one.parameters or {}, None))
            continue
        was = view.tools[one.source]
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
