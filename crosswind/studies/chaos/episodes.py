"""Which attempts a run consists of, and the names of their sessions."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from crosswind.figures.attempts import Arm
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


def plan_episodes(tasks: Sequence[Task], profiles: Sequence[str], samples: int) -> Iterator[Episode]:
    """Each sample of each task, clean and under each profile, side by side: what changes at the upstream
    meanwhile changes for all arms.
    """
    for sample in range(samples):
        for task in tasks:
            for profile in (OFF, *profiles):
                yield Episode(task, sample, profile)


def name_session(run: str, episode: Episode, attempt: int) -> str:
    """The id of a session: the same in each run with this name, and it tells the agent nothing of its arm."""
    key = "\x1f".join((run, *map(str, episode.key), str(attempt)))
    return f"c-{hashlib.blake2b(key.encode('utf-8', 'surrogatepass'), digest_size=12).hexdigest()}"
