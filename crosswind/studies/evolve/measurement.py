"""Measure profiles on an agent: `crosswind bench` plays, and the gateway's store says what came of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from secrets import token_hex
from typing import Any

from crosswind.gateway.trajectory.store import iterate_sessions, open_store
from crosswind.injectors.engine.plan import CLEAN
from crosswind.injectors.identity import digest
from crosswind.injectors.profiles.load import Profile, parse
from crosswind.studies.check.stored_conversations import read_longest
from crosswind.studies.conversations import RecordedConversation
from crosswind.studies.evolve.agents import Agent
from crosswind.studies.evolve.detectability import Detectability, measure_detectability
from crosswind.studies.evolve.equal_dose import compare
from crosswind.studies.evolve.fitness import Baseline, CandidateFitness, PlayedSession, pool, read_sessions
from crosswind.studies.evolve.frozen import write_profile
from crosswind.studies.evolve.journal import Journal
from crosswind.studies.evolve.search import Individual
from crosswind.studies.evolve.settings import TaskSet
from crosswind.studies.stack import run_bench

TOGETHER = 8
"""Candidates that are played in one go; a run that is stopped loses no more than these."""

HAND_MADE = "hand-made"

Played = Mapping[str, list[PlayedSession]]
"""By profile."""


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
    limits: Detectability
    seed: int
    conversations: Sequence[RecordedConversation] = ()
    """Those that the agent had in calm: what candidates' noise must not be told from too easily."""
    _process: str = field(default_factory=lambda: token_hex(4))
    """Tells sessions from those of an earlier process that was stopped while it measured the same."""
    _plays: Iterator[int] = field(default_factory=count)

    async def measure(
        self, individuals: Sequence[Individual], tasks: TaskSet, most: int | None = None
    ) -> list[CandidateFitness]:
        """The individuals' fitness on the tasks, in their order, until `most` were played. Those that are
        told too easily are refused, and not played."""
        found: list[Individual] = []
        batch: dict[str, tuple[Individual, Detectability]] = {}
        left = len(individuals) if most is None else most
        for one in individuals:
            if left == 0:
                break
            found.append(one)
            if self.journal.get(_key(tasks, one.id)) is not None:
                left -= not self._find(_key(tasks, one.id)).refused
                continue
            name = f"evolve-{one.id}"
            yaml = write_profile(name, 1, one.candidate, self.against, "A candidate.")
            detected = await asyncio.to_thread(self.detect, parse(yaml, name))
            if detected.exceeds(self.limits):
                self._keep(one, tasks, CandidateFitness.refuse(detected))
                continue
            left -= 1
            batch[name] = one, detected
            await self.agent.put_profile(name, yaml)
            if len(batch) == TOGETHER:
                await self._measure_batch(batch, tasks)
                batch = {}
        if batch:
            await self._measure_batch(batch, tasks)
        return [self._find(_key(tasks, one.id)) for one in found]

    async def _measure_batch(
        self, batch: Mapping[str, tuple[Individual, Detectability]], tasks: TaskSet
    ) -> None:
        played = await self._play(batch, tasks, self.folder / f"{tasks.name}.json")
        for name, (one, detected) in batch.items():
            self._keep(one, tasks, CandidateFitness.of(played[name], detected))

    def _keep(self, one: Individual, tasks: TaskSet, fitness: CandidateFitness) -> None:
        self.journal.add(_key(tasks, one.id), **one.to_json(), fitness=fitness.to_json())

    def detect(self, profile: Profile) -> Detectability:
        return measure_detectability(profile, self.conversations, self.seed)

    async def measure_baseline(self, tasks: TaskSet) -> Baseline:
        """The agent's success in calm on the tasks, and the hand-made profile's fitness. Its conversations in
        calm are added to those that candidates are judged by."""
        key, name = _key(tasks, HAND_MADE), self.against.name
        if (entry := self.journal.get(key)) is None:
            run = self._name_run(tasks)
            played = await self._play([name], tasks, self.folder / f"{tasks.name}.json", run=run, calm=True)
            fitness = CandidateFitness.of(played[name])
            calm = CandidateFitness.of(played[CLEAN]).success
            entry = self.journal.add(key, run=run, calm=calm, fitness=fitness.to_json())
        self.conversations = [*self.conversations, *await self._read_calm(entry["run"])]
        return Baseline(entry["calm"], self._find(key), self.limits)

    async def _read_calm(self, run: str) -> list[RecordedConversation]:
        return await asyncio.to_thread(read_calm, (await self.agent.gateway()).store, run)

    async def measure_held_out(self, role: str, name: str, yaml: str, tasks: TaskSet) -> Mapping[str, Any]:
        """Both profiles on held-out tasks, the agent's success there in calm, and the paired differences."""
        key, hand_made = f"{role} {tasks.name}", self.against.name
        if (entry := self.journal.get(key)) is None:
            await self.agent.put_profile(name, yaml)
            file = self.folder / f"{role}-{tasks.name}.json"
            run = self._name_run(tasks)
            played = await self._play([hand_made, name], tasks, file, run=run, calm=True)
            others = await self._read_calm(run)
            detected = await asyncio.to_thread(measure_detectability, parse(yaml, name), others, tasks.seed)
            entry = self.journal.add(
                key,
                agent=self.agent.name,
                seed=tasks.seed,
                calm=CandidateFitness.of(played[CLEAN]).success,
                hand_made=CandidateFitness.of(played[hand_made]).to_json(),
                evolved=CandidateFitness.of(played[name]).to_json(),
                detected=detected.to_json(),
                comparison=compare(played[CLEAN], played[hand_made], played[name]).to_json(),
            )
        return {name: value for name, value in entry.items() if name != "key"}

    def _name_run(self, tasks: TaskSet) -> str:
        return f"{tasks.name}-{self._process}-{next(self._plays)}"

    async def _play(
        self, profiles: Iterable[str], tasks: TaskSet, file: Path, *, run: str = "", calm: bool = False
    ) -> Played:
        """All profiles in one go, with the same tasks in calm where asked."""
        gateway, run = await self.agent.gateway(), run or self._name_run(tasks)
        await run_bench(
            self.agent.processes,
            *("--control", gateway.control, "--split", tasks.split, "--seed", str(tasks.seed)),
            *("--tasks", str(tasks.count), "--samples", str(tasks.samples), "--run", run),
            *(part for name in profiles for part in ("--under", name)),
            *("--calm" if calm else "--no-calm", *self.options),
            out=file,
        )
        return await asyncio.to_thread(read_sessions, gateway.store, run)

    def _find(self, key: str) -> CandidateFitness:
        return CandidateFitness.from_json((self.journal.get(key) or {})["fitness"])


def pool_baselines(parts: Sequence[Baseline]) -> Baseline:
    """Baselines on several sets of tasks as one."""
    sessions = [part.hand_made.sessions for part in parts]
    calm = sum(part.calm * of for part, of in zip(parts, sessions, strict=True)) / sum(sessions)
    return Baseline(calm, pool([part.hand_made for part in parts]), parts[0].limits)


def read_calm(store_url: str, run: str) -> list[RecordedConversation]:
    """The conversations of a run without noise, named by what they say: equal runs give equal ones."""
    found = []
    with closing(open_store(store_url)) as store:
        for session in iterate_sessions(store, label={"run": run}):
            trajectory = store.trajectory(session.id) if session.arm == CLEAN else None
            if trajectory is not None and (read := read_longest(trajectory)) is not None:
                said = digest(*(item.text for item in read.conversation.items))
                found.append(replace(read, name=said))
    return sorted(found, key=lambda one: one.name)


def _key(tasks: TaskSet, name: str) -> str:
    return f"{tasks.name} {name}"
