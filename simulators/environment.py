"""What a practice environment is, and how one is found by its name.

A new environment is one package under `simulators` with a module `environment` that defines `ENVIRONMENT`;
one from elsewhere is an entry point of the group `crosswind.environments` that names such an object, or a
process that speaks the same calls over HTTP, named by its URL. Nothing else is edited.
"""

from __future__ import annotations

import asyncio
import difflib
import functools
import importlib
import importlib.util
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any, ParamSpec, Protocol, TypeVar

from crosswind.simulators.errors import EnvironmentFailedError

P = ParamSpec("P")
T = TypeVar("T")

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


@dataclass(frozen=True, slots=True)
class Equipment:
    """What an agent gets for an episode."""

    instructions: str
    """The system prompt."""
    tools: Sequence[Mapping[str, Any]]
    """OpenAI tool objects."""
    tool_classes: Mapping[str, str] = field(default_factory=dict)
    """What the tools do to the world, as sessions are told: `tool_classes` of `POST /api/sessions`."""


class Episode(Protocol):
    """One attempt at a task: its own world, and its own user. It may have

    - `facts`, a mapping of what the user knows by its name: a difficult user withholds and contradicts it;
    - `equipment`, where the task brings its own tools or instructions instead of the environment's; its tools
      may be others after a `reply`;
    - `waits`, true where its methods wait for another process: async code then calls them in a thread.
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
    """A source of tasks with the tools to do them. It may have

    - `solvable`, true where its oracle solves every task that nothing disturbs;
    - `waits`, as episodes have it.
    """

    @property
    def name(self) -> str: ...

    @property
    def instructions(self) -> str:
        """The system prompt of every task that brings none of its own."""
        ...

    @property
    def tools(self) -> Sequence[Mapping[str, Any]]:
        """OpenAI tool objects, those of every task that brings none of its own."""
        ...

    @property
    def repeatable(self) -> Sequence[str]:
        """Names of the tools that change the world, and change nothing more when they are called again."""
        ...

    @property
    def read_only(self) -> Sequence[str]:
        """Names of the tools that only read. What is named neither here nor in `repeatable` is taken for what
        it says of itself."""
        ...

    @property
    def kinds(self) -> Mapping[str, Sequence[str]]:
        """Named sets of task kinds; `all` and `practice` are always there. In those of `withholding`, where
        there are any, the user keeps back what the task needs until asked."""
        ...

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
    """What the environment's own tools do to the world, as sessions are told."""
    reads = getattr(environment, "read_only", ())  # an environment from elsewhere may not say
    return dict.fromkeys(reads, "read_only") | dict.fromkeys(environment.repeatable, "idempotent")


def equip(environment: Environment, episode: Episode | None = None) -> Equipment:
    """What the agent gets: the task's own equipment, or the environment's."""
    own: Equipment | None = getattr(episode, "equipment", None)
    return own or Equipment(environment.instructions, environment.tools, declare_tools(environment))


@functools.cache
def _threads() -> ThreadPoolExecutor:
    """As many as there may be episodes at once, more or less: each waits for a call of its own."""
    return ThreadPoolExecutor(max_workers=96, thread_name_prefix="environment")


async def unblocked(act: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    """What a method of an environment, an episode or an oracle gives: called in a thread, if it waits for
    another process. Raises EnvironmentFailedError where it raises anything.
    """
    try:
        if getattr(getattr(act, "__self__", None), "waits", False):
            call = functools.partial(act, *given, **named)
            return await asyncio.get_running_loop().run_in_executor(_threads(), call)
        return act(*given, **named)
    except EnvironmentFailedError:
        raise
    except Exception as error:
        raise EnvironmentFailedError(f"{act.__name__}: {type(error).__name__}: {error}") from error


class UnknownEnvironmentError(ValueError):
    """No environment of that name; the message lists those there are."""


def names() -> list[str]:
    """Every environment's name, sorted."""
    return sorted({*_built_in(), *(point.name for point in entry_points(group=ENTRY_POINTS))})


def load(name: str) -> Environment:
    """The environment of that name, or at that URL."""
    if name.startswith(("http://", "https://")):
        over_http = importlib.import_module("crosswind.simulators.http_environment.environment")
        remote: Environment = over_http.HttpEnvironment(name)
        return remote
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
