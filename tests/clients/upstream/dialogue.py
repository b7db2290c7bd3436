"""What the scripted policy decides on, whatever the protocol: the dialogue so far, and its answer to it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.clients.upstream.refusals import Refused


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as the policy is shown it."""

    name: str
    description: str
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Said:
    """A text of the system's, the user's or the assistant's: one per text part."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Asked:
    """A call of the policy's, as it came back in the history. `arguments` are as they stand."""

    id: str
    name: str
    arguments: str

    @property
    def given(self) -> Any:
        """The arguments as a document; None where they are none."""
        try:
            return json.loads(self.arguments or "{}")
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class Given:
    """A tool's result."""

    id: str
    text: str


Item = Said | Asked | Given


@dataclass(frozen=True, slots=True)
class Dialogue:
    """The request as the policy reads it."""

    items: tuple[Item, ...]
    tools: tuple[Tool, ...] = ()
    schema: dict[str, Any] | None = None
    """The JSON schema that the answer's text is to follow."""
    forced: str | None = None
    """The tool that has to be called."""
    parallel: bool = True

    def results_of(self, name: str) -> list[tuple[Asked, Given]]:
        """The calls of a tool that were answered, in order."""
        given = {one.id: one for one in self.items if isinstance(one, Given)}
        asked = (one for one in self.items if isinstance(one, Asked) and one.name == name)
        return [(one, given[one.id]) for one in asked if one.id in given]


@dataclass(frozen=True, slots=True)
class Call:
    """A call that the policy makes."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the policy says. `error` after `pieces` stream events (0: in place of the answer)."""

    text: str | None = None
    calls: tuple[Call, ...] = ()
    reasoning: str | None = None
    refusal: str | None = None
    error: Refused | None = None
    pieces: int = 0
    more: dict[str, Any] = field(default_factory=dict)
    """Members that are added to the body as they are: what a dialect adds."""


Policy = Callable[[Dialogue], Answer]


def words(text: str) -> list[str]:
    """A text in the pieces in which it is streamed and counted: words with the space before them."""
    pieces = text.split(" ")
    return [piece if not number else " " + piece for number, piece in enumerate(pieces)] if text else []


def fragments(text: str, size: int = 7) -> list[str]:
    """JSON in the pieces in which it is streamed: cut anywhere."""
    return [text[start : start + size] for start in range(0, len(text), size)]
