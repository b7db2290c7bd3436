"""What is measured on one agent, and kept: what the journal has is not played again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crosswind.injectors.profiles.load import Profile
from crosswind.studies.evolve import frozen
from crosswind.studies.evolve.evaluation import Bench, Tasks
from crosswind.studies.evolve.fitness import Fitness
from crosswind.studies.evolve.journal import Journal
from crosswind.studies.evolve.search import Individual

TOGETHER = 8
"""Candidates that are played in one go; what a run loses at most when it is stopped."""

HAND_MADE = "hand-made"


@dataclass(frozen=True, slots=True)
class Measuring:
    """Measures candidates, and the hand-made profile that they are held against, on one agent."""

    bench: Bench
    journal: Journal
    against: Profile

    async def fitness(self, individuals: Sequence[Individual], tasks: Tasks) -> list[Fitness]:
        """The individuals' fitness on the tasks."""
        missing = [one for one in individuals if self.journal.get(_key(tasks, one.id)) is None]
        for at in range(0, len(missing), TOGETHER):
            await self._play(missing[at : at + TOGETHER], tasks)
        return [self._kept(_key(tasks, one.id)) for one in individuals]

    async def hand_made(self, tasks: Tasks) -> Fitness:
        """The hand-made profile's fitness on the tasks."""
        key = _key(tasks, HAND_MADE)
        if self.journal.get(key) is None:
            [fitness] = await self.bench.fitness([self.against.name], tasks)
            self.journal.add(key, fitness=fitness.to_json())
        return self._kept(key)

    async def held_out(self, role: str, name: str, yaml: str, tasks: Tasks) -> Mapping[str, Any]:
        """Both profiles on the held-out tasks, beside the calm, and their paired difference there."""
        key = f"{tasks.name} {role}"
        if (entry := self.journal.get(key)) is None:
            await self.bench.agent.put(name, yaml)
            files = [self.bench.folder / f"{role}-{which}.json" for which in (HAND_MADE, "evolved")]
            before = await self.bench.played(self.against.name, tasks, files[0], calm=True)
            after = await self.bench.played(name, tasks, files[1], calm=False)
            entry = self.journal.add(
                key,
                agent=self.bench.agent.name,
                policy=after.policy,
                calm=before.calm,
                hand_made=before.fitness.to_json(),
                evolved=after.fitness.to_json(),
                difference=dict(await self.bench.compared(*files)),
            )
        return {name: value for name, value in entry.items() if name != "key"}

    async def _play(self, individuals: Sequence[Individual], tasks: Tasks) -> None:
        names = [f"evolve-{one.id}" for one in individuals]
        for one, name in zip(individuals, names, strict=True):
            await self.bench.agent.put(
                name, frozen.text(name, 1, one.candidate, self.against, "A candidate.")
            )
        for one, fitness in zip(individuals, await self.bench.fitness(names, tasks), strict=True):
            self.journal.add(_key(tasks, one.id), **one.to_json(), fitness=fitness.to_json())

    def _kept(self, key: str) -> Fitness:
        return Fitness.from_json((self.journal.get(key) or {})["fitness"])


def _key(tasks: Tasks, name: str) -> str:
    return f"{tasks.name} {name}"
