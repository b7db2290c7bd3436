"""The search: a screening of single operators, then a (mu + lambda) evolution at the hand-made dose."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from crosswind.injectors.seeded_random import SeededRandom
from crosswind.studies.evolve.candidates import ALL_OF, Candidate, Space, cross, mutate
from crosswind.studies.evolve.fitness import Baseline, CandidateFitness

TRIES = 50
"""To find a child that wasn't evaluated yet."""
MOST_REFUSED = 6
"""Candidates that are looked at, for each that may be played."""


@dataclass(frozen=True, slots=True)
class Individual:
    """A candidate with where it came from."""

    candidate: Candidate
    generation: int
    origin: str
    parents: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return self.candidate.id

    def to_json(self) -> dict[str, Any]:
        """What the journal keeps of it."""
        come = {"id": self.id, "generation": self.generation, "origin": self.origin}
        return {**come, "parents": list(self.parents), **self.candidate.body()}


@dataclass(frozen=True, slots=True)
class Scored:
    """An individual with what was measured of it."""

    individual: Individual
    fitness: CandidateFitness


Evaluate = Callable[[Sequence[Individual], int], Awaitable[list[CandidateFitness]]]
"""The fitness of individuals, in their order, until so many were played."""
Progress = Callable[[int, Sequence[Scored]], None]
"""Called after each generation with the number of evaluations so far and the survivors, the best first."""


ChangePrompt = Callable[[Space, Scored, SeededRandom], Awaitable[Candidate | None]]
"""Gives the parent with a new prompt for one of its rules; None where no rule has one, or none came."""


@dataclass(slots=True)
class Search:
    """One run of the search. Its draws depend on the seed and on what was measured, on nothing else."""

    space: Space
    baseline: Baseline
    seed: int
    budget: int
    evaluate: Evaluate
    progress: Progress
    first: Candidate | None = None
    """Begins the screening: the hand-made profile."""
    change_prompt: ChangePrompt | None = None
    """For rules that a model writes for; None: there are none."""
    parents: int = 6
    offspring: int = 8
    _known: dict[str, Scored] = field(default_factory=dict)

    async def run(self) -> list[Scored]:
        """The survivors, the best first. At most `budget` candidates are played; those that are refused
        aren't."""
        generation, fresh = 0, list(self._list_single_operators())
        survivors: list[Scored] = []
        while fresh:
            room = self.budget if generation else max(1, self.budget // 2)
            found = await self.evaluate(fresh, room - self._played)
            scored = [Scored(one, fitness) for one, fitness in zip(fresh, found, strict=False)]
            self._known |= {one.individual.id: one for one in scored}
            for one in scored:
                self.space.entries.learn(one.fitness.entries)
            survivors = self._select([*survivors, *scored])
            self.progress(self._played, survivors)
            fresh = fresh[len(scored) :] if self._played < room else []
            if self._played >= self.budget or len(self._known) >= MOST_REFUSED * self.budget:
                break
            if not fresh:
                generation += 1
                fresh = await self._breed(generation, survivors)
        return survivors

    def _list_single_operators(self) -> Iterator[Individual]:
        """The hand-made profile, then single operators, in an order of the seed's."""
        if self.first is not None:
            yield Individual(self.first, 0, "hand-made")
        for name in SeededRandom(f"evolve|{self.seed}|screening").shuffled(self.space.operators):
            yield Individual(Candidate.of(ALL_OF, [self.space.gene(name)]), 0, "screening")

    @property
    def _played(self) -> int:
        return sum(not one.fitness.refused for one in self._known.values())

    def _select(self, among: Sequence[Scored]) -> list[Scored]:
        ranked = sorted(among, key=lambda one: (*self.baseline.rank(one.fitness), one.individual.id))
        return ranked[: self.parents]

    async def _breed(self, generation: int, survivors: Sequence[Scored]) -> list[Individual]:
        """The next generation."""
        found: list[Individual] = []
        taken = set(self._known)
        for number in range(TRIES):
            if len(found) == self.offspring:
                break
            rng = SeededRandom(f"evolve|{self.seed}|{generation}|{number}")
            child = await self._make_child(generation, survivors, rng)
            if child.id not in taken:
                taken.add(child.id)
                found.append(child)
        return found

    async def _make_child(
        self, generation: int, survivors: Sequence[Scored], rng: SeededRandom
    ) -> Individual:
        # The better a survivor, the likelier it is a parent.
        weights = [float(len(survivors) - place) for place in range(len(survivors))]
        one, other = rng.weighted(survivors, weights), rng.weighted(survivors, weights)
        first = one.individual
        if self.change_prompt is not None and rng.chance(0.4):
            worded = await self.change_prompt(self.space, one, rng)
            if worded is not None:
                return Individual(worded, generation, "prompt", (first.id,))
        if other is not one and rng.chance(0.3):
            child = cross(first.candidate, other.individual.candidate, rng)
            return Individual(child, generation, "crossing", (first.id, other.individual.id))
        return Individual(mutate(self.space, first.candidate, rng), generation, "mutation", (first.id,))
