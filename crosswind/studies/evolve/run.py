"""One search from top to bottom: the baseline, the search, the choice, the held-out tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import floor
from pathlib import Path
from typing import Any

from crosswind.gateway.config.loading import load
from crosswind.gateway.config.noise_model import NoiseModel
from crosswind.gateway.counts import count
from crosswind.gateway.errors import ConfigurationError
from crosswind.gateway.noise_model.chat_model import open_client
from crosswind.gateway.sessions.profiles import is_file
from crosswind.gateway.whole_file import write_whole
from crosswind.injectors.cli.packs_option import VARIABLE
from crosswind.injectors.packs.load import use_folder
from crosswind.injectors.profiles import load as built_in
from crosswind.injectors.profiles.load import Profile, ProfileError, parse
from crosswind.studies.evolve.agents import Agent, check_agent
from crosswind.studies.evolve.candidates import Candidate, Space
from crosswind.studies.evolve.detectability import Detectability
from crosswind.studies.evolve.entries import list_entries
from crosswind.studies.evolve.equal_dose import Comparison, Interval
from crosswind.studies.evolve.fitness import Baseline, CandidateFitness, pool
from crosswind.studies.evolve.frozen import describe_lineage, write_profile
from crosswind.studies.evolve.journal import Journal
from crosswind.studies.evolve.measurement import Measurements, pool_baselines
from crosswind.studies.evolve.prompts import ModelPrompts
from crosswind.studies.evolve.search import Individual, Scored, Search
from crosswind.studies.evolve.settings import FINALISTS, SearchSettings, TaskSet
from crosswind.studies.stack import Processes


def describe_fitness(fitness: CandidateFitness) -> str:
    """A success with the dose that it took, a session."""
    if fitness.refused:
        return "refused: the detectors tell it"
    dose = fitness.dose
    return (
        f"success {fitness.success:.1%} at {dose.exposed:.2f} exposed, {dose.injections:.2f} injections a "
        f"session, severities {dose.severity:.2f}, {dose.added:.0f} characters"
    )


def describe_held_out(found: Mapping[str, Any], tasks: TaskSet) -> str:
    """An agent's figures on one set of held-out tasks."""
    comparison = Comparison.from_json(found["comparison"])
    hand_made, evolved = (CandidateFitness.from_json(found[name]) for name in ("hand_made", "evolved"))
    return (
        f"calm {found['calm']:.1%}; hand-made: {describe_fitness(hand_made)}; "
        f"evolved: {describe_fitness(evolved)}; paired difference "
        f"{_describe_interval(comparison.as_played)}, "
        f"at equal dose {_describe_interval(comparison.at_equal_dose)}, {comparison.tasks} "
        f"of {tasks.count} tasks; {describe_detected(Detectability.from_json(found['detected']))}"
    )


def _describe_interval(found: Interval) -> str:
    low, high = (f"{100 * one:+.1f}" for one in (found.low, found.high))
    return f"{100 * found.difference:+.1f} points, 95 % [{low}, {high}]"


def describe_detected(found: Detectability) -> str:
    return (
        f"five phrases find {found.phrases:.0%}, a regression {found.regression:.0%}, "
        f"of {count(found.texts, 'text')}"
    )


Say = Callable[[str], None]

_ANY = "http://127.0.0.1:1/v1"
"""Stands for the upstreams that the gateways get, while their configuration is read."""

_NO_DOSE = "--against: {} injects nothing here, so that its dose leaves nothing to search: name one that does"


async def evolve(settings: SearchSettings, say: Say) -> Mapping[str, Any]:
    """Run the search that the settings describe, or go on with it; the frozen profile's lineage.

    ConfigurationError where they can't be used, ChildFailed where a command that it runs fails.
    """
    flags = {"upstream": _ANY, "packs": settings.packs}
    config = load(settings.config, flags) if settings.config else None
    packs = settings.packs if config is None else config.packs
    try:
        use_folder(packs)  # before the profile is read: it may weigh their entries
        own = is_file(settings.against)
        text = await asyncio.to_thread(Path(settings.against).read_text, "utf-8") if own else ""
        against = parse(text, settings.against) if own else built_in.load(settings.against)
        Space.of(settings.operators, 0.5)
    except (ProfileError, ValueError) as error:
        raise ConfigurationError(str(error)) from None
    if not against.rules:
        raise ConfigurationError(_NO_DOSE.format(settings.against))
    await check_agent("--reference", settings.reference)
    if settings.second is not None:
        await check_agent("--second", settings.second)
    settings.out.mkdir(parents=True, exist_ok=True)
    journal = Journal(settings.out / "evaluations.jsonl", settings.identity())
    variables = {} if packs is None else {VARIABLE: str(packs)}
    async with Processes(settings.out / "logs", variables) as processes:
        profiles = {against.name: text} if own else {}
        model = config.noise_model if config is not None else None
        return await Evolution(settings, against, profiles, journal, processes, say, model).run()


@dataclass(frozen=True, slots=True)
class Evolution:
    """A run: what it was asked for, and the profile that it is held against."""

    settings: SearchSettings
    against: Profile
    profiles: Mapping[str, str]
    """The text of that profile, by its name, where it isn't a built-in one."""
    journal: Journal
    processes: Processes
    say: Say
    noise_model: NoiseModel | None = None
    """Writes noise by prompts, which are searched then, too."""

    async def run(self) -> Mapping[str, Any]:
        """Search, choose, measure on held-out tasks, freeze."""
        settings = self.settings
        reference = self._measure_on(settings.reference, "reference")
        baseline = await reference.measure_baseline(settings.searched)
        self.say(f"{self.against.name}: {describe_fitness(baseline.hand_made)}; calm {baseline.calm:.1%}")
        if not baseline.hand_made.dose.injections:
            raise ConfigurationError(_NO_DOSE.format(settings.against))
        confirmed = await reference.measure_baseline(settings.confirmed)
        self.say(f"{self.against.name}: {describe_detected(reference.detect(self.against))}")
        survivors = await self._search(reference, baseline)
        if survivors[0].fitness.refused:
            raise ConfigurationError(_ALL_REFUSED)
        baseline = pool_baselines([baseline, confirmed])
        winner = await self._choose(survivors, baseline, reference)
        frozen = Frozen(winner.individual.candidate, _round_down(baseline.coverage(winner.fitness)))
        self.say(f"chosen: {frozen.candidate}, in {frozen.coverage:.0%} of the sessions")
        found = {
            "reference": [await self._measure_held_out("reference", reference, frozen, settings.apart[0])]
        }
        if settings.second is not None:
            second = self._measure_on(settings.second, "second")
            found["second"] = [
                await self._measure_held_out("second", second, frozen, tasks) for tasks in settings.apart
            ]
            compared = [Comparison.from_json(one["comparison"]) for one in found["second"]]
            hurts = sum(one.at_equal_dose.difference < 0 for one in compared)
            self.say(
                f"at equal dose it hurts the second agent more on {hurts} of {len(compared)} seeds, on "
                f"{sum(one.hurts_more for one in compared)} with the whole interval"
            )
        lineage = describe_lineage(settings, self.journal, winner, baseline, found)
        write_whole(settings.frozen, self._write_profile(frozen, lineage))
        self.say(f"frozen: {settings.frozen}")
        return lineage

    def _measure_on(self, agent: str, role: str) -> Measurements:
        settings = self.settings
        served = Agent(agent, role, self.processes, settings.out, settings.config, self.profiles)
        options = ("--environment", settings.environment, *settings.bench)
        return Measurements(
            served, settings.out, options, self.journal, self.against, settings.limits, settings.seed
        )

    async def _search(self, reference: Measurements, baseline: Baseline) -> list[Scored]:
        settings, dose = self.settings, baseline.hand_made.dose
        severity = dose.severity / dose.injections if dose.injections else 0.5

        async def evaluate(individuals: Sequence[Individual], most: int) -> list[CandidateFitness]:
            found = await reference.measure(individuals, settings.searched, most)
            for one, fitness in zip(individuals, found, strict=False):
                if fitness.refused and fitness.detected is not None:
                    self.say(f"refused: {describe_detected(fitness.detected)}: {one.candidate}")
            return found

        def progress(count: int, survivors: Sequence[Scored]) -> None:
            best = survivors[0]
            at_dose = f"{baseline.success_at_dose(best.fitness):.1%} at the dose"
            self.say(
                f"{count:4} of {settings.budget}  best: {at_dose}, {describe_fitness(best.fitness)}  "
                f"{best.individual.candidate}"
            )

        model = self.noise_model
        entries = list_entries(reference.conversations, self.against.phrases)
        search = Search(
            Space.of(settings.operators, severity, model is not None, entries),
            baseline,
            settings.seed,
            settings.budget,
            evaluate,
            progress,
            Candidate.of_profile(self.against),
        )
        if model is None:
            return await search.run()
        async with open_client() as http:
            search.change_prompt = ModelPrompts(http, model, self.journal).change_prompt
            return await search.run()

    async def _choose(
        self, survivors: Sequence[Scored], baseline: Baseline, reference: Measurements
    ) -> Scored:
        """The best of the finalists over both sets of tasks, at the hand-made profile's dose."""
        finalists = [one for one in survivors if not one.fitness.refused][:FINALISTS]
        again = await reference.measure([one.individual for one in finalists], self.settings.confirmed)
        both = [
            Scored(one.individual, pool([one.fitness, more]))
            for one, more in zip(finalists, again, strict=True)
        ]
        return min(both, key=lambda one: (*baseline.rank(one.fitness), one.individual.id))

    async def _measure_held_out(
        self, role: str, agent: Measurements, frozen: Frozen, tasks: TaskSet
    ) -> Mapping[str, Any]:
        found = await agent.measure_held_out(role, self.settings.name, self._write_profile(frozen), tasks)
        self.say(f"{role}, held-out seed {tasks.seed}: {describe_held_out(found, tasks)}")
        return found

    def _write_profile(self, frozen: Frozen, lineage: Mapping[str, Any] | None = None) -> str:
        settings = self.settings
        summary = (
            f"Where {settings.reference} fails most at the dose of {self.against.name}: found by a search."
        )
        return write_profile(
            settings.name, settings.version, frozen.candidate, self.against, summary, lineage, frozen.coverage
        )


@dataclass(frozen=True, slots=True)
class Frozen:
    """What was chosen, and the share of noisy sessions that gets it: that is how its dose is the hand-made
    one."""

    candidate: Candidate
    coverage: float


def _round_down(coverage: float) -> float:
    return floor(100 * coverage) / 100


_ALL_REFUSED = (
    "all candidates are told by the detectors: allow more with --phrases and --regression, or name other "
    "--operators"
)
