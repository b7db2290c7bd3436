"""Which attempts a run consists of, and the names of their sessions."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from crosswind.figures.attempts import Arm
from crosswind.figures.gate import order_tasks
from crosswind.studies.chaos.tasks import Task

OFF = "off"


@dataclass(frozen=True, slots=True)
class Episode:
    """One sample of a task in one arm; a void attempt at it is made again."""

    task: Task
    sample: int
    profile: str
    """`off` in the clean arm."""

    @property
    def arm(self) -> Arm:
        return Arm.CLEAN if self.profile == OFF else Arm.NOISY

    @property
    def key(self) -> tuple[str, int, str]:
        return self.task.id, self.sample, self.profile


def order(tasks: Sequence[Task], seed: int) -> list[Task]:
    """The tasks in the order in which a gate looks at them."""
    by_id = {task.id: task for task in tasks}
    return [by_id[name] for name in order_tasks(by_id, seed)]


def plan_episodes(tasks: Sequence[Task], profiles: Sequence[str], samples: int) -> Iterator[Episode]:
    """Each sample of each task, clean and under each profile, side by side: what changes at the upstream
    meanwhile changes for all arms.
    """
    for task in tasks:
        for sample in range(samples):
            for profile in (OFF, *profiles):
                yield Episode(task, sample, profile)


def name_session(run: str, episode: Episode, attempt: int) -> str:
    """The id of a session: the same in each run with this name, and it tells the agent nothing of its arm."""
    key = "\x1f".join((run, *map(str, episode.key), str(attempt)))
    return f"c-{hashlib.blake2b(key.encode('utf-8', 'surrogatepass'), digest_size=6).hexdigest()}"
