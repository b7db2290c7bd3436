"""What a practice environment is, and how one is found by its name.

A new environment is one package under `simulators` with a module `environment` that defines `ENVIRONMENT`;
one from elsewhere is an entry point of the group `crosswind.environments` that names such an object. Nothing
else is edited.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any, Protocol

Message = dict[str, Any]
"""A message as the OpenAI chat API writes it."""

ENTRY_POINTS = "crosswind.environments"
SPLITS = ("train", "test")


@dataclass(frozen=True, slots=True)
class Task:
    """One thing to do. The id alone determines it: the same id is the same task in every process."""

    id: str
    split: str
    kind: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """How an episode went: the reward in [0, 1] and its components, each in [0, 1]."""

    reward: float
    components: Mapping[str, float] = field(default_factory=dict)


class Episode(Protocol):
    """One attempt at a task: its own world, and its own user. It may have `facts`, a mapping of what the user
    knows by its name: a difficult user withholds and contradicts it.
    """

    opening: str
    """The user's first message."""
    scenario: str
    """What a model is told that plays the user: who it is, what it wants, and what it knows."""

    def call(self, name: str, arguments: str) -> str:
        """Carry out a call; `arguments` is JSON text as the model wrote it. A bad call gives an error."""
        ...

    def reply(self, text: str) -> str | None:
        """What the user says to the assistant's text; None: the conversation is over."""
        ...

    def verify(self) -> Verdict:
        """Judge the world's state and what the user was told."""
        ...

    def close(self) -> None:
        """Let go of the world."""
        ...


class Oracle(Protocol):
    """A scripted agent that knows what an agent sees, and no more."""

    def decide(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()) -> Message:
        """The next assistant message, with text or with calls. `tools` are those that it is shown; without
        them it takes the environment's own for granted.
        """
        ...


class Environment(Protocol):
    """A source of tasks with the tools to do them."""

    name: str
    instructions: str
    """The system prompt, the same for every task."""
    tools: Sequence[Mapping[str, Any]]
    """OpenAI tool objects, the same for every task."""
    repeatable: Sequence[str]
    """Names of the tools that change the world, and change nothing more when they are called again."""
    read_only: Sequence[str]
    """Names of the tools that only read. What is named neither here nor in `repeatable` is taken for what it
    says of itself."""
    kinds: Mapping[str, Sequence[str]]
    """Named sets of task kinds; `all` and `practice` are always there. In those of `withholding`, where there
    are any, the user keeps back what the task needs until asked."""

    def tasks(self, split: str, *, kinds: str, seed: int) -> Iterator[Task]:
        """Tasks of a split without end, the kinds in turn, in an order that the seed determines."""
        ...

    def task(self, task_id: str) -> Task:
        """The task of that id; ValueError for an id that isn't this environment's."""
        ...

    def reset(self, task: Task, seed: int) -> Episode:
        """A fresh episode. The seed decides what the task leaves open, such as the user's wording."""
        ...

    def oracle(self, *, recovers: bool = True, verifies: bool = False) -> Oracle:
        """The scripted agent that solves every task; without `recovers` it believes what it meets first, and
        solves every task in which the user says all that is needed and nothing is disturbed. If it
        `verifies`, it believes no single result, and false ones that don't say so mislead it no more.
        """
        ...


def declare_tools(environment: Environment) -> dict[str, str]:
    """What the environment's tools do, as sessions are told: `tool_classes` of `POST /api/sessions`."""
    reads = getattr(environment, "read_only", ())  # an environment from elsewhere may not say
    return dict.fromkeys(reads, "read_only") | dict.fromkeys(environment.repeatable, "idempotent")


class UnknownEnvironmentError(ValueError):
    """No environment of that name; the message lists those there are."""


def names() -> list[str]:
    """Every environment's name, sorted."""
    return sorted({*_built_in(), *(point.name for point in entry_points(group=ENTRY_POINTS))})


def load(name: str) -> Environment:
    """The environment of that name."""
    if name in _built_in():
        found: Environment = importlib.import_module(f"crosswind.simulators.{name}.environment").ENVIRONMENT
        return found
    for point in entry_points(group=ENTRY_POINTS, name=name):
        loaded: Environment = point.load()
        return loaded
    known = names()
    near = difflib.get_close_matches(name, known, 1)
    meant = f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(known)}"
    raise UnknownEnvironmentError(f"environment: there is no {name!r}; {meant}")


def _built_in() -> list[str]:
    package = importlib.import_module("crosswind.simulators")
    return [
        found.name
        for found in pkgutil.iter_modules(package.__path__)
        if found.ispkg and importlib.util.find_spec(f"crosswind.simulators.{found.name}.environment")
    ]
