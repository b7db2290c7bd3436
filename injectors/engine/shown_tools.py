"""What a policy is shown in place of the declared tools: data for the request, the answer and the ledger."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from crosswind.injectors.conversation import ToolSchema
from crosswind.injectors.engine.decision import Decision, Injection
from crosswind.injectors.text.json_payload import parsed

JSON_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "array": (list,),
    "object": (dict,),
}
"""The Python types that a value of a JSON schema's type has."""


@dataclass(frozen=True, slots=True)
class ShownTool:
    """One tool as it is shown.

    `source` is the index of the declared tool that it stands for; None: only noise put it there, and then
    `description` (None: it has none) and `parameters` are all that there is. A tool with a source gives
    `description` and `parameters` only where `changed` names them: the rest is as the client declared it.
    """

    source: int | None
    name: str
    description: str | None = None
    parameters: Mapping[str, Any] | None = None
    changed: frozenset[str] = frozenset()
    """Which of `name`, `description` and `parameters` differ from the source's."""


@dataclass(frozen=True, slots=True)
class Phantom:
    """A tool that only noise put there: a call of it never reaches the agent."""

    name: str
    answers: tuple[str, ...]

    def answer(self, calls: int) -> str:
        """The result of a call, `calls` calls of it having been answered on this branch before."""
        return self.answers[min(calls, len(self.answers) - 1)]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A declared tool that is shown with wrong types: the first call that follows them is answered inside."""

    takes: Mapping[str, str]
    """The type that the tool takes, per parameter that is shown with another one."""

    def objection(self, arguments: str) -> str | None:
        """What to answer in the agent's place to a call with these arguments (JSON text); None: the call has
        the right types, or can't be read, and goes to the agent.

        To be asked until one call was answered so on the branch; from then on every call goes to the agent.
        """
        given = parsed(arguments)
        for name, kind in self.takes.items():
            if isinstance(given, dict) and name in given and not of_type(given[name], kind):
                has = _type_name(given[name])
                message = f"parameter '{name}' must be of type {kind}, but {has} was given"
                return json.dumps({"error": "invalid_argument_type", "message": message})
        return None


def of_type(value: Any, kind: str) -> bool:
    """Whether a JSON value is of a JSON schema's type; an unknown type takes everything."""
    if isinstance(value, bool) and kind != "boolean":
        return kind not in JSON_TYPES
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return kind not in JSON_TYPES or isinstance(value, JSON_TYPES[kind])


def _type_name(value: Any) -> str:
    return next((kind for kind in JSON_TYPES if of_type(value, kind)), "null")


@dataclass(frozen=True, slots=True)
class ShownTools:
    """A list of tools as it is shown, with all that is needed to map calls back.

    The ledger keeps it: `to_json` leaves out `injections`, which are what one request's decisions did.
    """

    anchor: str
    """Of the declared list; empty where nothing is perturbed."""
    tools: tuple[ShownTool, ...]
    """In the order shown."""
    declared_of: Mapping[str, str] = field(default_factory=dict)
    """The declared name by the shown name, where the two differ: renamed tools and suffixed duplicates."""
    phantoms: Mapping[str, Phantom] = field(default_factory=dict)
    """By shown name. A name is never both here and a declared tool's shown name."""
    refusals: Mapping[str, Refusal] = field(default_factory=dict)
    """By the shown name of the tool."""
    decisions: tuple[Decision, ...] = ()
    """All that were made for the session's tools so far, those of dropped tools included."""
    decided: tuple[str, ...] = ()
    """The anchors of the tools that were decided about, tools that are shown clean included."""
    partial: bool = False
    """Whether something may be left out for this request only (several choices, a tool that tool_choice
    names): then it isn't what the next request is shown."""
    injections: tuple[Injection, ...] = ()

    @property
    def shown_of(self) -> dict[str, str]:
        """The shown name by the declared name, for the tools that are renamed: what history and tool_choice
        need."""
        return {
            self.declared_of[tool.name]: tool.name
            for tool in self.tools
            if tool.source is not None and "name" in tool.changed
        }

    @property
    def untouched(self) -> bool:
        """Whether the list is shown as the client declared it."""
        return all(tool.source == at and not tool.changed for at, tool in enumerate(self.tools))

    @staticmethod
    def clean(tools: Sequence[ToolSchema]) -> ShownTools:
        """The list as the client declared it."""
        return ShownTools("", tuple(ShownTool(at, tool.name) for at, tool in enumerate(tools)))

    def to_json(self) -> dict[str, Any]:
        """What the ledger keeps, as JSON data."""
        # The members of parameters keep their order: the policy is to meet the same bytes again.
        data: dict[str, Any] = msgspec.to_builtins(self)
        for tool in data["tools"]:
            tool["changed"] = sorted(tool["changed"])
        del data["injections"]
        return data

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> ShownTools:
        """What `to_json` gave. ValueError where the data are no shown tools."""
        try:
            return msgspec.convert(data, ShownTools)
        except msgspec.ValidationError as error:
            raise ValueError(
                f"not a list of shown tools: {error}; give what ShownTools.to_json wrote"
            ) from error
