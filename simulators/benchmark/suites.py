"""What a benchmark plays: every task calm, and under the noise types that were asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from crosswind.simulators.draws import stable_seed
from crosswind.simulators.environment import Environment, Task
from crosswind.simulators.episodes.record import Job

CLEAN = "clean"
NOISY = "noisy"


@dataclass(frozen=True, slots=True)
class NoiseArm:
    """A noise type at a level (None: as the profile has it), or a whole profile as it stands."""

    noise_type: str | None = None
    level: int | None = None
    profile: str | None = None
    """Where there is no noise type: the profile that the arm is played under, and named after."""


@dataclass(frozen=True, slots=True)
class Suite:
    """A benchmark, wholly described: equal suites play equal tasks, wording, noise and sampling seeds."""

    split: str
    kinds: str
    tasks: int
    samples: int
    seed: int
    profile: str | None = None
    noise: tuple[NoiseArm, ...] = ()
    rotate: bool = False
    """Each task under one of the noise types, in turn, instead of under all of them."""
    run: str = "bench"
    calm: bool = True
    """Whether every task is played without noise, too."""
    phrases: str | None = None
    """The half of the phrase packs, `train` or `test`; None: as the profile has it."""


def parse_noise(text: str) -> tuple[NoiseArm, ...]:
    """`tool.timeout@3,user.typos` as arms; ValueError names the part that can't be read."""
    arms = []
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, at, level = part.partition("@")
        if not name or (at and not level.isdecimal()):
            raise ValueError(f"{part!r} isn't TYPE or TYPE@LEVEL, such as tool.timeout@3")
        arms.append(NoiseArm(name, int(level) if at else None))
    return tuple(arms)


def jobs(environment: Environment, suite: Suite) -> Iterator[Job]:
    """The suite's episodes, task after task."""
    tasks = list(islice(environment.tasks(suite.split, kinds=suite.kinds, seed=suite.seed), suite.tasks))
    for sample in range(suite.samples):
        for position, task in enumerate(tasks):
            if suite.calm:
                yield _job(environment, suite, task, sample, None)
            for noise in _noise_of(suite, position):
                yield _job(environment, suite, task, sample, noise)


def _noise_of(suite: Suite, position: int) -> Sequence[NoiseArm]:
    if suite.rotate and suite.noise:
        return (suite.noise[position % len(suite.noise)],)
    return suite.noise


def _job(environment: Environment, suite: Suite, task: Task, sample: int, noise: NoiseArm | None) -> Job:
    session: dict[str, Any] = {
        "arm": CLEAN if noise is None else NOISY,
        "rollout_index": sample,
        # Scope "task": a task meets the same noise again in a later run, so that runs compare pairwise.
        "seed": stable_seed("noise", suite.seed, sample),
        "seed_scope": "task",
        "labels": {
            "purpose": "eval",
            "environment": environment.name,
            "split": suite.split,
            "kind": task.kind,
            "run": suite.run,
        },
    }
    if noise is not None:
        profile = noise.profile or suite.profile
        given = {"noise_type": noise.noise_type, "level": noise.level, "profile": profile}
        given |= {"phrases": suite.phrases}
        session |= {name: value for name, value in given.items() if value is not None}
    # The arms share wording and sampling seeds: what differs between them is the noise.
    key = ("bench", suite.seed, task.id, sample)
    return Job(task, stable_seed("user", *key), key, session)
