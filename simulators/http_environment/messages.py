"""The answers of an environment over HTTP, as they are checked. `docs/environments.md` describes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, convert

from crosswind.simulators.environment import Task

Name = Annotated[str, Meta(min_length=1, max_length=256)]
Share = Annotated[float, Meta(ge=0, le=1)]


class Function(Struct, frozen=True):
    name: Name
    parameters: Mapping[str, Any]
    description: str = ""


class Tool(Struct, frozen=True):
    """A tool as the OpenAI chat API writes it: what it must have."""

    function: Function
    type: Literal["function"] = "function"


Tools = list[dict[str, Any]]
ToolClasses = Mapping[str, Literal["read_only", "idempotent", "destructive", "unknown"]]


def _check_tools(tools: Tools) -> None:
    """A ValueError, which the decoder reports, unless all of them can be shown to a model."""
    convert(tools, list[Tool])
    names = [tool["function"]["name"] for tool in tools]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"tools: {name!r} is there twice")


class Description(Struct, frozen=True):
    """The answer to `environment`."""

    name: Name
    instructions: str = ""
    tools: Tools = []
    tool_classes: ToolClasses = {}
    kinds: Mapping[str, Sequence[str]] = {}
    oracle: bool = False

    def __post_init__(self) -> None:
        _check_tools(self.tools)


class DescribedTask(Struct, frozen=True):
    """The answer to `task`."""

    id: Name
    split: str = "test"
    kind: str = "task"

    def as_task(self) -> Task:
        return Task(self.id, self.split, self.kind)


class DescribedTasks(Struct, frozen=True):
    """The answer to `tasks`."""

    tasks: Sequence[DescribedTask]


class Begun(Struct, frozen=True):
    """The answer to `reset`. What isn't told of the agent's equipment is the environment's."""

    episode: Name
    opening: str
    scenario: str = ""
    facts: Mapping[str, str] = {}
    instructions: str | None = None
    tools: Tools | None = None
    tool_classes: ToolClasses | None = None

    def __post_init__(self) -> None:
        _check_tools(self.tools or [])


class Result(Struct, frozen=True):
    """The answer to `call`."""

    result: str


class Reply(Struct, frozen=True):
    """The answer to `reply`; null: the conversation is over. `tools`: those that there are from now on."""

    reply: str | None
    tools: Tools | None = None

    def __post_init__(self) -> None:
        _check_tools(self.tools or [])


class Judgement(Struct, frozen=True):
    """The answer to `verify`."""

    reward: Share
    components: Mapping[str, Share] = {}


class Closed(Struct, frozen=True):
    """The answer to `close`."""


class Decision(Struct, frozen=True):
    """The answer to `decide`."""

    message: dict[str, Any]
