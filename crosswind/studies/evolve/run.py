"""One search from top to bottom: the cap, the search, the choice, the held-out tasks, the second agent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crosswind.gateway.config.loading import load
from crosswind.gateway.config.noise_model import NoiseModel
from crosswind.gateway.errors import ConfigurationError
from crosswind.gateway.noise_model.chat_model import open_client
from crosswind.gateway.sessions.profiles import is_file
from crosswind.injectors.profiles import load as built_in
from crosswind.injectors.profiles.load import Profile, ProfileError, parse
from crosswind.studies.evolve.agents import Agent, check_agent
from crosswind.studies.evolve.candidates import Candidate, Space
from crosswind.studies.evolve.fitness import CandidateFitness, pool
from crosswind.studies.evolve.frozen import describe_lineage, write_profile
from crosswind.studies.evolve.journal import Journal
from crosswind.studies.evolve.measurement import Measurements
from crosswind.studies.evolve.prompts import ModelPrompts
from crosswind.studies.evolve.search import Individual, Scored, Search
from crosswind.studies.evolve.settings import FINALISTS, SearchSettings
from crosswind.studies.stack import Processes


def describe_fitness(fitness: CandidateFitness) -> str:
    """A success with the dose that it took, a session."""
    dose = fitness.dose
    return (
        f"success {fitness.success:.1%} at {dose.injections:.2f} injections a session, severities "
        f"{dose.severity:.2f}, {dose.added:.0f} characters"
    )


def describe_held_out(found: Mapping[str, Any]) -> str:
    """An agent's figures on the held-out tasks."""
    difference = found["difference"]
    low, high = (f"{100 * difference[name]:+.1f}" for name in ("low", "high"))
    hand_made, evolved = (CandidateFitness.from_json(found[name]) for name in ("hand_made", "evolved"))
    return (
        f"calm {found['calm']:.1%}; hand-made: {describe_fitness(hand_made)}; "
        f"evolved: {describe_fitness(evolved)}; "
        f"paired difference {100 * difference['difference']:+.1f} points, 95 % [{low}, {high}], "
        f"{difference['n']} tasks"
    )


Say = Callable[[str], None]

_ANY = "http://127.0.0.1:1/v1"
"""Stands for the upstreams that the gateways get, while their configuration is read for its noise model."""

_NO_DOSE = "--against: {} injects nothing here, so that its dose leaves nothing to search: name one that does"


async def evolve(settings: SearchSettings, say: Say) -> Mapping[str, Any]:
    """Run the search that the settings describe, or go on with it; the frozen profile's lineage.

    ConfigurationError where they can't be used, ChildFailed where a command that it runs fails.
    """
    try:
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
    async with Processes(settings.out / "logs") as processes:
        profiles = {against.name: text} if own else {}
        model = load(settings.config, {"upstream": _ANY}).noise_model if settings.config else None
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
        hand_made = await reference.measure_hand_made(settings.searched)
        self.say(f"{self.against.name}: {describe_fitness(hand_made)}; this dose is the cap")
        if not hand_made.dose.injections:
            raise ConfigurationError(_NO_DOSE.format(settings.against))
        survivors = await self._search(reference, hand_made)
        hand_made = pool([hand_made, await reference.measure_hand_made(settings.confirmed)])
        winner = await self._choose(survivors, hand_made, reference)
        candidate = winner.individual.candidate
        self.say(f"chosen: {candidate}")
        found = {"reference": await self._measure_held_out("reference", reference, candidate)}
        if settings.second is not None:
            second = self._measure_on(settings.second, "second")
            found["second"] = await self._measure_held_out("second", second, candidate)
        lineage = describe_lineage(settings, self.journal, winner, hand_made, found)
        settings.frozen.write_text(self._write_profile(candidate, lineage), encoding="utf-8")
        self.say(f"frozen: {settings.frozen}")
        return lineage

    def _measure_on(self, agent: str, role: str) -> Measurements:
        settings = self.settings
        served = Agent(agent, role, self.processes, settings.out, settings.config, self.profiles)
        options = ("--environment", settings.environment, *settings.bench)
        return Measurements(served, settings.out, options, self.journal, self.against)

    async def _search(self, reference: Measurements, hand_made: CandidateFitness) -> list[Scored]:
        settings, dose = self.settings, hand_made.dose
        severity = dose.severity / dose.injections if dose.injections else 0.5

        async def evaluate(individuals: Sequence[Individual]) -> list[CandidateFitness]:
            return await reference.measure(individuals, settings.searched)

        def progress(count: int, survivors: Sequence[Scored]) -> None:
            best = survivors[0]
            counted = f"{count:4} of {settings.budget}"
            self.say(f"{counted}  best: {describe_fitness(best.fitness)}  {best.individual.candidate}")

        model = self.noise_model
        search = Search(
            Space.of(settings.operators, severity, prompts=model is not None),
            dose,
            settings.seed,
            settings.budget,
            evaluate,
            progress,
        )
        if model is None:
            return await search.run()
        async with open_client() as http:
            search.change_prompt = ModelPrompts(http, model, self.journal).change_prompt
            return await search.run()

    async def _choose(
        self, survivors: Sequence[Scored], hand_made: CandidateFitness, reference: Measurements
    ) -> Scored:
        """The best of the finalists over both sets of tasks, with the hand-made profile's dose as the cap."""
        finalists = survivors[:FINALISTS]
        again = await reference.measure([one.individual for one in finalists], self.settings.confirmed)
        both = [
            Scored(one.individual, pool([one.fitness, more]))
            for one, more in zip(finalists, again, strict=True)
        ]
        best = min(both, key=lambda one: (*one.fitness.rank(hand_made.dose), one.individual.id))
        if best.fitness.dose.excess(hand_made.dose) > 0:
            self.say("on the other tasks no finalist keeps within the dose; the one nearest to it is taken")
        return best

    async def _measure_held_out(
        self, role: str, agent: Measurements, candidate: Candidate
    ) -> Mapping[str, Any]:
        settings = self.settings
        found = await agent.measure_held_out(
            role, settings.name, self._write_profile(candidate), settings.apart
        )
        self.say(f"{role}, on held-out tasks: {describe_held_out(found)}")
        return found

    def _write_profile(self, candidate: Candidate, lineage: Mapping[str, Any] | None = None) -> str:
        settings = self.settings
        summary = (
            f"Where {settings.reference} fails most at the dose of {self.against.name}: found by a search."
        )
        return write_profile(settings.name, settings.version, candidate, self.against, summary, lineage)
