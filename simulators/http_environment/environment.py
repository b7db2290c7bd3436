"""An environment in another process, as the rest sees it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

from crosswind.simulators.environment import Episode, Equipment, Message, Oracle, Task, Verdict
from crosswind.simulators.errors import EnvironmentFailedError
from crosswind.simulators.http_environment.connection import Connection, RefusedError
from crosswind.simulators.http_environment.messages import (
    Begun,
    Closed,
    Decision,
    DescribedTask,
    DescribedTasks,
    Description,
    Judgement,
    Reply,
    Result,
)

PAGE = 64
"""Tasks that are asked for at once."""

T = TypeVar("T")


class HttpEnvironment:
    """The environment at a URL."""

    waits = True

    def __init__(self, url: str, timeout_s: float | None = None) -> None:
        self._at = Connection(url, timeout_s)

    @cached_property
    def _description(self) -> Description:
        return self._at.ask("environment", Description)

    @property
    def name(self) -> str:
        return self._description.name

    @property
    def instructions(self) -> str:
        return self._description.instructions

    @property
    def tools(self) -> Sequence[Mapping[str, Any]]:
        return self._description.tools

    @property
    def repeatable(self) -> Sequence[str]:
        return self._of_class("idempotent")

    @property
    def read_only(self) -> Sequence[str]:
        return self._of_class("read_only")

    def _of_class(self, wanted: str) -> Sequence[str]:
        return tuple(name for name, kind in self._description.tool_classes.items() if kind == wanted)

    @cached_property
    def kinds(self) -> Mapping[str, Sequence[str]]:
        return {"all": (), "practice": (), **self._description.kinds}

    def tasks(self, split: str, *, kinds: str, seed: int) -> Iterator[Task]:
        """The tasks page by page; after the last one the first comes again."""
        first = 0
        while True:
            given = {"split": split, "kinds": kinds, "seed": seed, "first": first, "count": PAGE}
            page = self._at.ask("tasks", DescribedTasks, **given).tasks
            yield from (one.as_task() for one in page)
            if not page and not first:
                raise EnvironmentFailedError(
                    f"tasks: there are none of the split {split} and the kinds {kinds}"
                )
            first = first + len(page) if len(page) == PAGE else 0

    def task(self, task_id: str) -> Task:
        return self._at.ask("task", DescribedTask, id=task_id).as_task()

    def reset(self, task: Task, seed: int) -> Episode:
        begun = self._at.ask("reset", Begun, task=task.id, seed=seed)
        own = self._description
        equipment = Equipment(
            own.instructions if begun.instructions is None else begun.instructions,
            own.tools if begun.tools is None else begun.tools,
            own.tool_classes if begun.tool_classes is None else begun.tool_classes,
        )
        return HttpEpisode(self._at, begun, equipment)

    def oracle(self, *, recovers: bool = True, verifies: bool = False) -> Oracle:
        if not self._description.oracle:
            raise ValueError(
                f"environment: {self.name} has no oracle; answer the call `decide` and say `oracle: true`"
            )
        return HttpOracle(self._at, recovers, verifies)


class HttpEpisode:
    """An episode in another process. After a failure it has no verdict, which couldn't be relied on."""

    waits = True

    def __init__(self, at: Connection, begun: Begun, equipment: Equipment) -> None:
        self._at, self._key = at, begun.episode
        self._failure: EnvironmentFailedError | None = None
        self.opening, self.scenario, self.facts = begun.opening, begun.scenario, begun.facts
        self.equipment = equipment

    def call(self, name: str, arguments: str) -> str:
        return self._ask("call", Result, name=name, arguments=arguments).result

    def reply(self, text: str) -> str | None:
        said = self._ask("reply", Reply, text=text)
        if said.tools is not None:
            self.equipment = replace(self.equipment, tools=said.tools)
        return said.reply

    def verify(self) -> Verdict:
        judged = self._ask("verify", Judgement)
        return Verdict(judged.reward, judged.components)

    def close(self) -> None:
        if self._failure is None:
            self._ask("close", Closed)

    def _ask(self, name: str, answer: type[T], /, **given: Any) -> T:
        if self._failure is not None:
            raise self._failure
        try:
            return self._at.ask(name, answer, episode=self._key, **given)
        except RefusedError as error:
            self._failure = EnvironmentFailedError(f"{name}: {error}")
        except EnvironmentFailedError as error:
            self._failure = error
        raise self._failure


class HttpOracle:
    """An oracle in another process."""

    waits = True

    def __init__(self, at: Connection, recovers: bool, verifies: bool) -> None:
        self._at, self._recovers, self._verifies = at, recovers, verifies

    def decide(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()) -> Message:
        given = {"recovers": self._recovers, "verifies": self._verifies}
        return self._at.ask("decide", Decision, messages=list(messages), tools=list(tools), **given).message
