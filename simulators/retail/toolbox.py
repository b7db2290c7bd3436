"""Which of the tools that it is shown an agent calls for a purpose, and how it goes on where one refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from crosswind.simulators.retail.tools import TOOLS, Call

_REFUSED = re.compile(r"no such tool|not enabled|must be of type")
"""How a tool says that it isn't there, or takes other types: nothing was done."""


def is_refusal(text: str) -> bool:
    """Whether a result says that the tool itself can't be called so."""
    return _REFUSED.search(text) is not None


class Toolbox:
    """The tools as an agent is shown them.

    With `recovers` a refusal leads on: to the types that the purpose has, to the tool whose name is short for
    the known one. Without, the most tempting name is called once, as it is declared.
    """

    def __init__(self, tools: Sequence[Mapping[str, Any]] = (), *, recovers: bool = True) -> None:
        self._recovers = recovers
        self._parameters: dict[str, list[Mapping[str, Any]]] = {}
        """What the tools of a name take: it may be listed several times."""
        for tool in tools:
            function = tool["function"]
            properties = (function.get("parameters") or {}).get("properties") or {}
            self._parameters.setdefault(function["name"], []).append(properties)

    def ways(self, name: str, arguments: Mapping[str, Any]) -> Iterator[Call]:
        """The calls that may serve the purpose that the tool of this name has, in the order to be tried."""
        names = self._names(name, arguments)
        for shown in names if self._recovers else names[:1]:
            declared = self._as_declared(shown, arguments)
            yield shown, declared
            if self._recovers and declared != arguments:
                yield shown, arguments

    def names(self, name: str) -> set[str]:
        """Every name under which the tool's purpose may be served."""
        return set(self._names(name, TOOLS[name].parameters))

    def _names(self, name: str, arguments: Mapping[str, Any]) -> list[str]:
        if not self._parameters:
            return [name]
        if not self._recovers:
            # This agent prefers a distractor: a longer name that begins with the known one.
            longer = sorted(one for one in self._parameters if one.startswith(f"{name}_"))
            return [*longer, name]
        takes = set(arguments)
        others = [
            one
            for one, listed in self._parameters.items()
            if one not in TOOLS and any(set(each) == takes for each in listed) and _short_for(one, name)
        ]
        own = [name] if name in self._parameters else []
        return [*own, *sorted(others)] or [name]

    def _as_declared(self, shown: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """The arguments in the types that the tool is declared to take."""
        listed = self._parameters.get(shown, [])
        # If several tools share a name, take the one with the given arguments.
        properties = next((one for one in listed if set(one) == set(arguments)), listed[0] if listed else {})
        kinds = {
            name: schema.get("type") for name, schema in properties.items() if isinstance(schema, Mapping)
        }
        return {name: _cast(value, kinds.get(name)) for name, value in arguments.items()}


def _short_for(other: str, name: str) -> bool:
    """Whether the other name is this one with its words abbreviated: cut short, or without some letters."""
    words, whole = other.split("_"), name.split("_")
    return len(words) == len(whole) and all(
        _abbreviates(word, full) for word, full in zip(words, whole, strict=True)
    )


def _abbreviates(word: str, full: str) -> bool:
    """Whether the word has the other one's first letter, and of the rest some in their order (`pmt`)."""
    letters = iter(full)
    return word[:1] == full[:1] != "" and all(letter in letters for letter in word)


def _cast(value: Any, kind: object) -> Any:
    if kind == "integer" and isinstance(value, str):
        return int("".join(filter(str.isdecimal, value)) or "0")
    if kind == "string" and not isinstance(value, str):
        return json.dumps(value)
    return value
