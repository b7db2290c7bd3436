"""The search finds what is hidden in a landscape, keeps to the dose, and repeats itself exactly."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from crosswind.studies.evolve.candidates import Space
from crosswind.studies.evolve.fitness import CandidateFitness, MeasuredDose, pool
from crosswind.studies.evolve.search import Individual, Scored, Search

SPACE = Space.of(["user.*", "tool.*"], 0.7)
CAP = MeasuredDose(1.0, 0.7, 150.0)
WEAKNESS = "tool.stale_resource"
TOO_MUCH = "tool.context_pressure"


def landscape(individual: Individual) -> CandidateFitness:
    """An agent that only fails under two operators, one of which takes more than the dose allows."""
    doses = {gene.operator: gene.chance * gene.severity for gene in individual.candidate.genes}
    hurt = doses.get(WEAKNESS, 0.0) + 2 * doses.get(TOO_MUCH, 0.0)
    injections = sum(gene.chance for gene in individual.candidate.genes)
    added = 10_000 * doses.get(TOO_MUCH, 0.0)
    return CandidateFitness(max(0.0, 0.9 - hurt), 10, MeasuredDose(injections, sum(doses.values()), added))


class Run:
    """A search that notes what it had evaluated. Broken off before evaluation number `until`."""

    def __init__(self, budget: int, seed: int = 0, until: int | None = None) -> None:
        self.asked: list[str] = []
        self.best: list[float] = []
        self._until = until
        self.search = Search(SPACE, CAP, seed, budget, self._evaluate, self._progress)

    async def _evaluate(self, individuals: Sequence[Individual]) -> list[CandidateFitness]:
        self.asked += [one.id for one in individuals]
        if self._until is not None and len(self.asked) >= self._until:
            raise KeyboardInterrupt
        return [landscape(one) for one in individuals]

    def _progress(self, count: int, survivors: Sequence[Scored]) -> None:
        assert count == len(self.asked)
        self.best.append(survivors[0].fitness.success)


@pytest.mark.parametrize("seed", range(5))
async def test_the_weakness_is_found_within_the_dose(seed: int) -> None:
    run = Run(120, seed)
    best = (await run.search.run())[0]
    assert best.fitness.dose.excess(CAP) == 0
    assert WEAKNESS in {gene.operator for gene in best.individual.candidate.genes}
    assert best.fitness.success < 0.25, "0.2 is the lowest that the dose allows"
    assert run.best == sorted(run.best, reverse=True), "what was found isn't lost again"
    assert len(run.asked) == len(set(run.asked)) == 120


async def test_a_budget_of_one_is_one_evaluation() -> None:
    run = Run(1)
    assert len(await run.search.run()) == len(run.asked) == 1


async def test_equal_seeds_search_alike_and_others_differ() -> None:
    runs = [Run(60, seed) for seed in (3, 3, 4)]
    for run in runs:
        await run.search.run()
    assert runs[0].asked == runs[1].asked != runs[2].asked


async def test_what_a_search_that_was_stopped_had_asked_is_what_it_asks_again() -> None:
    stopped, whole = Run(60, until=40), Run(60)
    with pytest.raises(KeyboardInterrupt):
        await stopped.search.run()
    await whole.search.run()
    assert stopped.asked == whole.asked[: len(stopped.asked)] and len(stopped.asked) >= 40


def test_a_dose_over_the_cap_ranks_behind_any_within_it() -> None:
    within, above = CandidateFitness(0.9, 10, CAP), CandidateFitness(0.0, 10, MeasuredDose(1.0, 0.7, 151.0))
    assert within.rank(CAP) < above.rank(CAP)
    assert above.dose.excess(CAP) == pytest.approx(1 / 150)
    assert MeasuredDose(0.1, 0.0, 0.0).excess(MeasuredDose(0.0, 0.0, 0.0)) == float("inf")


def test_measurements_are_pooled_by_their_sessions() -> None:
    both = pool(
        [
            CandidateFitness(0.0, 10, MeasuredDose(1.0, 2.0, 30.0)),
            CandidateFitness(1.0, 30, MeasuredDose(2.0, 2.0, 10.0)),
        ]
    )
    assert both == CandidateFitness(0.75, 40, MeasuredDose(1.75, 2.0, 15.0))
