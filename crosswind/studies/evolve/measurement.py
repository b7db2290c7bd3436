"""Measure profiles on an agent: success by `crosswind bench` through its gateway, the dose from its store."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
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

TOGETHER = 8
"""Candidates that are played in one go; a run that is stopped loses no more than these."""

HAND_MADE = "hand-made"


@dataclass(slots=True)
class Measurements:
    """Measures profiles on one agent: the same tasks, wording, noise seeds and sampling seeds for all.

    What the journal has is not played again.
    """

    agent: Agent
    folder: Path
    options: Sequence[str]
    """Further options of `crosswind bench`: the environment, how the agent samples."""
    journal: Journal
    against: Profile
    """The hand-made profile."""
    _process: str = field(default_factory=lambda: token_hex(4))
    """Tells sessions from those of an earlier process that was stopped while it measured the same."""
    _plays: Iterator[int] = field(default_factory=count)

    async def measure(self, individuals: Sequence[Individual], tasks: TaskSet) -> list[CandidateFitness]:
        """The individuals' fitness on the tasks."""
        missing = [one for one in individuals if self.journal.get(_key(tasks, one.id)) is None]
        for at in range(0, len(missing), TOGETHER):
            batch = {f"evolve-{one.id}": one for one in missing[at : at + TOGETHER]}
            for name, one in batch.items():
                yaml = write_profile(name, 1, one.candidate, self.against, "A candidate.")
                await self.agent.put_profile(name, yaml)
            results, doses = await self._play(batch, tasks, self.folder / f"{tasks.name}.json")
            for name, one in batch.items():
                fitness = _read_fitness(results, name, doses)
                self.journal.add(_key(tasks, one.id), **one.to_json(), fitness=fitness.to_json())
        return [self._find(_key(tasks, one.id)) for one in individuals]

    async def measure_hand_made(self, tasks: TaskSet) -> CandidateFitness:
        """The hand-made profile's fitness on the tasks."""
        key, name = _key(tasks, HAND_MADE), self.against.name
        if self.journal.get(key) is None:
            results, doses = await self._play([name], tasks, self.folder / f"{tasks.name}.json")
            self.journal.add(key, fitness=_read_fitness(results, name, doses).to_json())
        return self._find(key)

    async def measure_held_out(self, role: str, name: str, yaml: str, tasks: TaskSet) -> Mapping[str, Any]:
        """Both profiles on the held-out tasks, the agent's success there in calm, and the paired difference
        (evolved − hand-made) with its 95 % interval."""
        key, hand_made = _key(tasks, role), self.against.name
        if (entry := self.journal.get(key)) is None:
            await self.agent.put_profile(name, yaml)
            files = [self.folder / f"{role}-{which}.json" for which in (HAND_MADE, "evolved")]
            before, doses_before = await self._play([hand_made], tasks, files[0], calm=True)
            after, doses_after = await self._play([name], tasks, files[1])
            compared = await run_bench(
                self.agent.processes,
                *("--compare", *map(str, files)),
                out=files[1].with_name(f"{files[1].stem}-difference.json"),
                name="bench compare",
            )
            entry = self.journal.add(
                key,
                agent=self.agent.name,
                policy=after["policy_version"],
                calm=float(before["arms"]["clean"]["success"]),
                hand_made=_read_fitness(before, hand_made, doses_before).to_json(),
                evolved=_read_fitness(after, name, doses_after).to_json(),
                difference=dict(compared["arms"].get("noisy", {})),
            )
        return {name: value for name, value in entry.items() if name != "key"}

    async def _play(
        self, profiles: Iterable[str], tasks: TaskSet, file: Path, *, calm: bool = False
    ) -> tuple[dict[str, Any], dict[str, MeasuredDose]]:
        """All profiles in one go, with the same tasks in calm where asked; and the doses, by profile."""
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

    def _find(self, key: str) -> CandidateFitness:
        return CandidateFitness.from_json((self.journal.get(key) or {})["fitness"])


def _read_fitness(
    results: Mapping[str, Any], profile: str, doses: Mapping[str, MeasuredDose]
) -> CandidateFitness:
    arm = results["arms"][profile]
    # Noise that did not act cost nothing.
    success = 1.0 if arm["success"] is None else float(arm["success"])
    return CandidateFitness(success, int(arm["n"]), doses[profile])


def _key(tasks: TaskSet, name: str) -> str:
    return f"{tasks.name} {name}"
