"""The retail domain: an order database, fourteen tools, a short policy and a scripted user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from crosswind.simulators.draws import Draws
from crosswind.simulators.environment import Environment, Episode, Oracle, Task, Verdict
from crosswind.simulators.retail import tasks, tools, verifier
from crosswind.simulators.retail.oracle import RetailOracle
from crosswind.simulators.retail.user import ScriptedUser, scenario
from crosswind.simulators.retail.world import connect

INSTRUCTIONS = (
    "You serve a shop. Read before you answer or change. Cancel and change pending orders only, "
    "return delivered orders only; else refuse and tell the status. If a read fails, repeat it."
)


SPOKEN = {"old": "old email", "new": "new email"}
"""What users call a fact that the wordings name in short."""


class RetailEpisode:
    """One attempt at a retail task, on a database of its own."""

    def __init__(self, case: tasks.TaskInstance, seed: int) -> None:
        self._case = case
        self._database = connect(case.image)
        self._user = ScriptedUser(case.kind, case.goal, Draws("retail-user", case.task.id, seed))
        self._calls: list[verifier.MadeCall] = []
        self._last_answer: str | None = None
        self.opening = self._user.opening
        self.facts = {SPOKEN.get(name, name): value for name, value in case.goal.values.items()}
        self.scenario = scenario(self.opening, case.goal)

    def call(self, name: str, arguments: str) -> str:
        self._calls.append((name, arguments))
        return tools.call(self._database, name, arguments)

    def reply(self, text: str) -> str | None:
        self._last_answer = text
        return self._user.reply(text)

    def verify(self) -> Verdict:
        return verifier.verify(self._case, self._database, self._calls, self._last_answer)

    def close(self) -> None:
        self._database.close()


READS: Sequence[str] = tuple(tool.name for tool in tools.TOOLS.values() if not tool.writes)
WRITES: Sequence[str] = tuple(tool.name for tool in tools.TOOLS.values() if tool.writes)


class Retail:
    """The environment named `retail`."""

    name = "retail"
    instructions = INSTRUCTIONS
    tools: Sequence[Mapping[str, Any]] = tuple(tool.schema() for tool in tools.TOOLS.values())
    repeatable = WRITES
    read_only = READS
    kinds: Mapping[str, Sequence[str]] = tasks.KIND_SETS
    solvable = True

    def tasks(self, split: str, *, kinds: str, seed: int) -> Iterator[Task]:
        return tasks.tasks(split, kinds, seed)

    def task(self, task_id: str) -> Task:
        return tasks.task(task_id)

    def reset(self, task: Task, seed: int) -> Episode:
        return RetailEpisode(tasks.instantiate(task.id), seed)

    def oracle(self, *, recovers: bool = True, verifies: bool = False) -> Oracle:
        return RetailOracle(recovers=recovers, verifies=verifies)


ENVIRONMENT: Environment = Retail()
