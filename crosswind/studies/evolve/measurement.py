"""Measure profiles on an agent: success by `crosswind bench` through its gateway, the dose from its store."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from secrets import token_hex
from typing import Any

from crosswind.injectors.profiles.load import Profile
from crosswind.studies.evolve.agents import Agent
from crosswind.studies.evolve.fitness import CandidateFitness, MeasuredDose, read_doses
from crosswind.studies.evolve.frozen import write_profile
from crosswind.studies.evolve.journal import Journal
from crosswind.studies.evolve.search import Individual
from crosswind.studies.evolve.settings import TaskSet
from crosswind.studies.stack import run_bench


@dataclass(frozen=True, slots=True)
class Played:
    """A profile on an agent, beside the calm, and the version of its policy where it has one."""

    fitness: CandidateFitness
    calm: float | None
    policy: str | None


@dataclass(slots=True)
class Bench:
    """Plays profiles on one agent, with the same tasks, wording, noise seeds and sampling seeds for all."""

    agent: Agent
    folder: Path
    options: Sequence[str]
    """Further options of `crosswind bench`: the environment, how the agent samples."""
    _process: str = field(default_factory=lambda: token_hex(4))
    """Tells sessions apart from those of an earlier process that was stopped and measured the same."""
    _plays: Iterator[int] = field(default_factory=count)

    async def measure(self, profiles: Sequence[str], tasks: TaskSet) -> list[CandidateFitness]:
        """The fitness of each profile: all of them in one go, and nothing in calm."""
        results, doses = await self._play(profiles, tasks, self.folder / f"{tasks.name}.json", calm=False)
        return [_read_fitness(results, name, doses) for name in profiles]

    async def play(self, profile: str, tasks: TaskSet, file: Path, *, calm: bool) -> Played:
        """One profile, and the same tasks in calm where asked; the benchmark's figures are in the file."""
        results, doses = await self._play([profile], tasks, file, calm=calm)
        in_calm = float(results["arms"]["clean"]["success"]) if calm else None
        return Played(_read_fitness(results, profile, doses), in_calm, results["policy_version"])

    async def compare(self, before: Path, after: Path) -> Mapping[str, Any]:
        """The paired difference after − before of success in noise, with its 95 % interval."""
        out = after.with_name(f"{after.stem}-difference.json")
        arguments = ("--compare", str(before), str(after))
        compared = await run_bench(self.agent.processes, *arguments, out=out, name="bench compare")
        found: Mapping[str, Any] = compared["arms"]["noisy"]
        return found

    async def _play(
        self, profiles: Sequence[str], tasks: TaskSet, file: Path, *, calm: bool
    ) -> tuple[dict[str, Any], dict[str, MeasuredDose]]:
        gateway = await self.agent.gateway()
        run = f"{tasks.name}-{self._process}-{next(self._plays)}"
        results = await run_bench(
            self.agent.processes,
            *("--control", gateway.control, "--split", tasks.split, "--seed", str(tasks.seed)),
            *("--tasks", str(tasks.count), "--samples", str(tasks.samples), "--run", run),
            *(part for name in profiles for part in ("--under", name)),
            *("--calm" if calm else "--no-calm", *self.options),
            out=file,
        )
        return results, await asyncio.to_thread(read_doses, gateway.store, run)


def _read_fitness(
    results: Mapping[str, Any], profile: str, doses: Mapping[str, MeasuredDose]
) -> CandidateFitness:
    arm = results["arms"][profile]
    return CandidateFitness(float(arm["success"]), int(arm["n"]), doses[profile])


TOGETHER = 8
"""Candidates that are played in one go; what a run loses at most when it is stopped."""

HAND_MADE = "hand-made"


@dataclass(frozen=True, slots=True)
class Measurements:
    """Measures candidates and the hand-made profile on one agent. What the journal has isn't played again."""

    bench: Bench
    journal: Journal
    against: Profile

    async def measure(self, individuals: Sequence[Individual], tasks: TaskSet) -> list[CandidateFitness]:
        """The individuals' fitness on the tasks."""
        missing = [one for one in individuals if self.journal.get(_key(tasks, one.id)) is None]
        for at in range(0, len(missing), TOGETHER):
            await self._play(missing[at : at + TOGETHER], tasks)
        return [self._read(_key(tasks, one.id)) for one in individuals]

    async def measure_hand_made(self, tasks: TaskSet) -> CandidateFitness:
        """The hand-made profile's fitness on the tasks."""
        key = _key(tasks, HAND_MADE)
        if self.journal.get(key) is None:
            [fitness] = await self.bench.measure([self.against.name], tasks)
            self.journal.add(key, fitness=fitness.to_json())
        return self._read(key)

    async def measure_held_out(self, role: str, name: str, yaml: str, tasks: TaskSet) -> Mapping[str, Any]:
        """Both profiles on the held-out tasks, beside the calm, and their paired difference there."""
        key = f"{tasks.name} {role}"
        if (entry := self.journal.get(key)) is None:
            await self.bench.agent.put_profile(name, yaml)
            files = [self.bench.folder / f"{role}-{which}.json" for which in (HAND_MADE, "evolved")]
            before = await self.bench.play(self.against.name, tasks, files[0], calm=True)
            after = await self.bench.play(name, tasks, files[1], calm=False)
            entry = self.journal.add(
                key,
                agent=self.bench.agent.name,
                policy=after.policy,
                calm=before.calm,
                hand_made=before.fitness.to_json(),
                evolved=after.fitness.to_json(),
                difference=dict(await self.bench.compare(*files)),
            )
        return {name: value for name, value in entry.items() if name != "key"}

    async def _play(self, individuals: Sequence[Individual], tasks: TaskSet) -> None:
        names = [f"evolve-{one.id}" for one in individuals]
        for one, name in zip(individuals, names, strict=True):
            await self.bench.agent.put_profile(
                name, write_profile(name, 1, one.candidate, self.against, "A candidate.")
            )
        for one, fitness in zip(individuals, await self.bench.measure(names, tasks), strict=True):
            self.journal.add(_key(tasks, one.id), **one.to_json(), fitness=fitness.to_json())

    def _read(self, key: str) -> CandidateFitness:
        return CandidateFitness.from_json((self.journal.get(key) or {})["fitness"])


def _key(tasks: TaskSet, name: str) -> str:
    return f"{tasks.name} {name}"
