"""The search: a screening of single operators, then a (mu + lambda) evolution under a cap on the dose."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from crosswind.injectors.seeded_random import SeededRandom
from crosswind.studies.evolve.candidates import ALL_OF, Candidate, Space, cross, mutate, thin, weaken
from crosswind.studies.evolve.fitness import CandidateFitness, MeasuredDose

TRIES = 50
"""To find a child that wasn't evaluated yet."""


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


Evaluate = Callable[[Sequence[Individual]], Awaitable[list[CandidateFitness]]]
Progress = Callable[[int, Sequence[Scored]], None]
"""Called after each generation with the number of evaluations so far and the survivors, the best first."""


ChangePrompt = Callable[[Space, Scored, SeededRandom], Awaitable[Candidate | None]]
"""Gives the parent with a new prompt for one of its rules; None where no rule has one, or none came."""


@dataclass(slots=True)
class Search:
    """One run of the search. Its draws depend on the seed and on what was measured, on nothing else."""

    space: Space
    cap: MeasuredDose
    seed: int
    budget: int
    evaluate: Evaluate
    progress: Progress
    change_prompt: ChangePrompt | None = None
    """For rules that a model writes for; None: there are none."""
    parents: int = 6
    offspring: int = 8
    _known: dict[str, Scored] = field(default_factory=dict)

    async def run(self) -> list[Scored]:
        """The survivors, the best first. At most `budget` candidates are evaluated."""
        generation, fresh = 0, list(self._list_single_operators())
        survivors: list[Scored] = []
        while fresh:
            batch = fresh[: self.budget - len(self._known)]
            scored = [
                Scored(one, fitness) for one, fitness in zip(batch, await self.evaluate(batch), strict=True)
            ]
            self._known |= {one.individual.id: one for one in scored}
            survivors = self._select([*survivors, *scored])
            self.progress(len(self._known), survivors)
            generation += 1
            if len(self._known) >= self.budget:
                break
            fresh = await self._breed(generation, survivors, scored)
        return survivors

    def _list_single_operators(self) -> Iterator[Individual]:
        """Single operators, in an order of the seed's, for half of the budget at most."""
        names = SeededRandom(f"evolve|{self.seed}|screening").sample(
            self.space.operators, max(1, self.budget // 2)
        )
        for name in names:
            yield Individual(Candidate.of(ALL_OF, [self.space.gene(name)]), 0, "screening")

    def _select(self, among: Sequence[Scored]) -> list[Scored]:
        ranked = sorted(among, key=lambda one: (*one.fitness.rank(self.cap), one.individual.id))
        return ranked[: self.parents]

    async def _breed(
        self, generation: int, survivors: Sequence[Scored], last: Sequence[Scored]
    ) -> list[Individual]:
        """The next generation: milder forms of what hurt most at too high a dose, then children."""
        found = self._make_milder(generation, survivors, last)[: self.offspring]
        taken = {*self._known, *(one.id for one in found)}
        for number in range(TRIES):
            if len(found) == self.offspring:
                break
            rng = SeededRandom(f"evolve|{self.seed}|{generation}|{number}")
            child = await self._make_child(generation, survivors, rng)
            if child.id not in taken:
                taken.add(child.id)
                found.append(child)
        return found

    def _make_milder(
        self, generation: int, survivors: Sequence[Scored], last: Sequence[Scored]
    ) -> list[Individual]:
        best = min((one.fitness.success for one in survivors if self._within(one)), default=1.0)
        strong = [one for one in last if not self._within(one) and one.fitness.success < best]
        found: dict[str, Individual] = {}
        for one in sorted(strong, key=lambda one: (one.fitness.success, one.individual.id)):
            factor = 1 / (1 + one.fitness.dose.excess(self.cap))
            for origin, milder in (("thinned", thin), ("weakened", weaken)):
                child = milder(one.individual.candidate, factor)
                if child.id not in self._known:
                    found[child.id] = Individual(child, generation, origin, (one.individual.id,))
        return list(found.values())

    def _within(self, one: Scored) -> bool:
        return one.fitness.dose.excess(self.cap) == 0

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
