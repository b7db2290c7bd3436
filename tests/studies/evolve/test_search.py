"""The search finds what is hidden in a landscape, counts at the dose, and repeats itself exactly."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from crosswind.injectors.seeded_random import SeededRandom
from crosswind.studies.evolve.candidates import Space
from crosswind.studies.evolve.detectability import Detectability
from crosswind.studies.evolve.entries import EntryPool
from crosswind.studies.evolve.fitness import Baseline, CandidateFitness, EntryCount, MeasuredDose, pool
from crosswind.studies.evolve.search import Individual, Scored, Search

SPACE = Space.of(["user.*", "tool.*"], 0.7)
CAP = MeasuredDose(0.8, 1.0, 0.7, 150.0)
BASELINE = Baseline(0.9, CandidateFitness(0.5, 10, CAP))
WEAKNESS = "tool.stale_resource"
TOO_MUCH = "tool.context_pressure"
TOLD = "tool.timeout"


def landscape(individual: Individual) -> CandidateFitness:
    """An agent that only fails under three operators: one is told at once, one takes ten times the dose."""
    doses = {gene.operator: gene.chance * gene.severity for gene in individual.candidate.genes}
    if TOLD in doses:
        return CandidateFitness.refuse(Detectability(1.0, 1.0, 50))
    hurt = doses.get(WEAKNESS, 0.0) + 2 * doses.get(TOO_MUCH, 0.0)
    injections = sum(gene.chance for gene in individual.candidate.genes) + 9 * doses.get(TOO_MUCH, 0.0)
    dose = MeasuredDose(min(0.8, injections), injections, sum(doses.values()), 10.0)
    return CandidateFitness(max(0.0, 0.9 - hurt), 10, dose)


class Run:
    """A search that notes what it had evaluated. Broken off before evaluation number `until`."""

    def __init__(self, budget: int, seed: int = 0, until: int | None = None) -> None:
        self.asked: list[str] = []
        self.best: list[float] = []
        self._until = until
        self.search = Search(SPACE, BASELINE, seed, budget, self._evaluate, self._progress)

    async def _evaluate(self, individuals: Sequence[Individual], most: int) -> list[CandidateFitness]:
        found: list[CandidateFitness] = []
        for one in individuals:
            if sum(not known.refused for known in found) == most:
                break
            found.append(landscape(one))
            if not found[-1].refused:
                self.asked.append(one.id)
        if self._until is not None and len(self.asked) >= self._until:
            raise KeyboardInterrupt
        return found

    def _progress(self, count: int, survivors: Sequence[Scored]) -> None:
        assert count == len(self.asked)
        self.best.append(BASELINE.success_at_dose(survivors[0].fitness))


@pytest.mark.parametrize("seed", range(3))
async def test_the_entries_are_found_that_reach_a_weakness(seed: int) -> None:
    """The agent gives up at a fifth of the phrases of the only operator that there is."""
    names = tuple(f"en/shopping#chat-{number:03d}" for number in range(1, 31))
    feared = set(names[::5])
    dose = MeasuredDose(0.8, 0.8, 0.56, 40.0)

    def play(one: Individual) -> CandidateFitness:
        weights = {name: dict(one.candidate.genes[0].entries).get(name, 1.0) for name in names}
        failed = sum(weights[name] for name in feared) / sum(weights.values())
        met = {name: EntryCount(2, 2.0 * (name in feared)) for name in names if weights[name] > 0}
        return CandidateFitness(0.9 - 0.8 * failed, 10, dose, entries=met)

    async def evaluate(individuals: Sequence[Individual], most: int) -> list[CandidateFitness]:
        return [play(one) for one in individuals[:most]]

    entries = EntryPool({"user.redundant": (names,)})
    space = Space.of(["user.redundant"], 0.7, entries=entries)
    best = (await Search(space, BASELINE, seed, 40, evaluate, lambda *_: None).run())[0]
    assert best.fitness.success < 0.3 < 0.9 - 0.8 * len(feared) / len(names)


@pytest.mark.parametrize("seed", range(5))
async def test_the_weakness_is_found_within_the_dose(seed: int) -> None:
    run = Run(120, seed)
    best = (await run.search.run())[0]
    assert WEAKNESS in {gene.operator for gene in best.individual.candidate.genes}
    assert BASELINE.success_at_dose(best.fitness) < 0.25, "0.2 is the lowest that the dose allows"
    assert not best.fitness.refused
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


def test_what_is_over_the_dose_counts_as_if_fewer_sessions_met_it() -> None:
    twice = CandidateFitness(0.5, 10, MeasuredDose(0.8, 2.0, 0.7, 150.0))
    assert BASELINE.coverage(twice) == pytest.approx(0.5)
    assert BASELINE.success_at_dose(twice) == pytest.approx(0.7)
    half = CandidateFitness(0.5, 10, MeasuredDose(0.4, 0.5, 0.3, 20.0))
    assert BASELINE.coverage(half) == 1.0 and BASELINE.success_at_dose(half) == 0.5
    assert MeasuredDose(0.1, 0.1, 0.0, 0.0).ratio(MeasuredDose(0.1, 0.0, 0.0, 0.0)) == float("inf")


def test_what_is_told_ranks_behind_all_that_is_not() -> None:
    told = CandidateFitness.refuse(Detectability(0.5, 0.5, 20))
    assert BASELINE.rank(CandidateFitness(0.9, 10, CAP)) < BASELINE.rank(told)


def test_measurements_are_pooled_by_their_sessions() -> None:
    both = pool(
        [
            CandidateFitness(0.0, 10, MeasuredDose(1.0, 1.0, 2.0, 30.0)),
            CandidateFitness(1.0, 30, MeasuredDose(0.0, 2.0, 2.0, 10.0)),
        ]
    )
    assert both == CandidateFitness(0.75, 40, MeasuredDose(0.25, 1.75, 2.0, 15.0))


def test_entries_under_which_the_agent_fails_are_kept() -> None:
    names = tuple(f"en/shopping#chat-{number:03d}" for number in range(20))
    pool_of = EntryPool({"user.redundant": (names,)})
    pool_of.learn({name: EntryCount(8, 8.0 if at < 5 else 0.0) for at, name in enumerate(names)})
    for seed in range(20):
        weights = pool_of.choose(names, SeededRandom(f"{seed}"))
        kept = [name for name in names if weights.get(name, 1.0) > 0]
        assert 3 <= len(kept) < len(names)
        assert set(kept) <= set(names[:5]) or set(names[:5]) <= set(kept)
