"""Groups of rollouts: the same task several times over, numbered so that a run's groups are known before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, islice
from typing import Any

from crosswind.gateway.client import AsyncClient
from crosswind.simulators.draws import stable_seed
from crosswind.simulators.environment import Environment, Task
from crosswind.simulators.episodes.record import Job


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """Which groups to play. `first` continues a run's numbering; `groups` None is without end."""

    split: str
    kinds: str
    seed: int
    size: int
    first: int = 0
    groups: int | None = None
    profile: str | None = None
    run: str = "rollout"

    def group_id(self, number: int) -> str:
        return f"{self.prefix}{number:05d}"

    @property
    def prefix(self) -> str:
        """What all ids of such groups begin with."""
        return f"{self.split}-{self.seed}-"


async def next_group(control: AsyncClient, plan: GroupPlan) -> int:
    """The number after those that the gateway has, or had, sessions of: rollouts that joined a group which
    was compared, or trained on, already would be lost to both.
    """
    ids = [name for name in await control.groups() if name.startswith(plan.prefix)]
    numbers = [int(number) for name in ids if (number := name.removeprefix(plan.prefix)).isdecimal()]
    # Only the newest 1,000 sessions are listed, so a group may exist under a higher number: probe for one.
    deleted = await control.highest_deleted(plan.prefix)
    found, step = max([*numbers, -1 if deleted is None else deleted]) + 1, 1
    while await control.groups(newest=1, of=plan.group_id(found)):
        found, step = found + step, 2 * step
    return found


def jobs(environment: Environment, plan: GroupPlan) -> Iterator[Job]:
    """The plan's episodes, group after group. Group k plays the seed's k-th task."""
    last = None if plan.groups is None else plan.first + plan.groups
    tasks = islice(environment.tasks(plan.split, kinds=plan.kinds, seed=plan.seed), plan.first, last)
    for number, task in zip(count(plan.first), tasks, strict=False):
        for index in range(plan.size):
            yield _job(environment, plan, number, index, task)


def _job(environment: Environment, plan: GroupPlan, number: int, index: int, task: Task) -> Job:
    group = plan.group_id(number)
    session: dict[str, Any] = {
        "group_id": group,
        "group_size": plan.size,
        "rollout_index": index,
        "arm": "auto",
        "seed": plan.seed,
        "labels": {
            "purpose": "train",
            "environment": environment.name,
            "split": plan.split,
            "kind": task.kind,
            "run": plan.run,
        },
    }
    if plan.profile is not None:
        session["profile"] = plan.profile
    return Job(task, stable_seed("user", group), ("policy", group, task.id, index), session)
