"""Tasks by their ids: `retail-train-00017` is task 17 of the train split, the same in every process."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from crosswind.simulators.draws import Draws
from crosswind.simulators.environment import SPLITS, Task
from crosswind.simulators.retail.kinds import ALL, KINDS, PRACTICE, WITHHOLDING, Goal, Kind
from crosswind.simulators.retail.world import generate

PER_KIND = 7_919
"""Tasks of each kind in a split. A prime, so that any step but 0 walks through all of them."""

KIND_SETS = {"practice": PRACTICE, "all": ALL, "withholding": WITHHOLDING} | {name: (name,) for name in ALL}

_ID = re.compile(r"retail-(train|test)-(\d{5,6})")


@dataclass(frozen=True, slots=True)
class TaskInstance:
    """A task with its shop, as a database image, and its goal."""

    task: Task
    kind: Kind
    goal: Goal
    image: bytes


def task(task_id: str) -> Task:
    """The task of that id; its kind is the number's remainder over the kinds."""
    found = _ID.fullmatch(task_id)
    if found is None or int(found[2]) >= PER_KIND * len(ALL):
        raise ValueError(f"task_id: {task_id!r} isn't a retail task; write retail-train-00017, say")
    return Task(task_id, found[1], ALL[int(found[2]) % len(ALL)])


def tasks(split: str, kinds: str, seed: int) -> Iterator[Task]:
    """Tasks of a split without end: the kinds in turn, each kind's tasks in an order of the seed's."""
    if split not in SPLITS:
        raise ValueError(f"split: {split!r} isn't one of {', '.join(SPLITS)}")
    if kinds not in KIND_SETS:
        raise ValueError(f"kinds: {kinds!r} isn't one of {', '.join(KIND_SETS)}")
    draws = Draws("retail-order", split, seed)
    start, step = draws.integer(0, PER_KIND - 1), draws.integer(1, PER_KIND - 1)
    wanted = [ALL.index(name) for name in KIND_SETS[kinds]]
    count = 0
    while True:
        at = (start + step * count) % PER_KIND
        for position in wanted:
            yield task(f"retail-{split}-{at * len(ALL) + position:05d}")
        count += 1


@lru_cache(maxsize=128)
def instantiate(task_id: str) -> TaskInstance:
    """Generate a task's shop and goal. Cached, since the rollouts of a group share them."""
    wanted = task(task_id)
    kind = KINDS[wanted.kind]
    draws = Draws("retail-task", task_id)
    shop = generate(wanted.split, draws)
    return TaskInstance(wanted, kind, kind.goal(shop, draws, wanted.split), shop.image())
