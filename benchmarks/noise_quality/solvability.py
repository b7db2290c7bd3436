"""Play BFCL's multi-turn entries with the gold agent through a gateway, under every built-in profile."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.noise_quality import bfcl
from benchmarks.noise_quality.solved import Solved
from crosswind.gateway.client import AsyncClient
from crosswind.simulators.bfcl.environment import ENVIRONMENT as BFCL
from crosswind.simulators.draws import stable_seed
from crosswind.simulators.environment import SPLITS, Task
from crosswind.simulators.episodes.agent import AgentSettings, ToolAgent
from crosswind.simulators.episodes.record import Job
from crosswind.simulators.episodes.runner import EpisodeRunner, model_client
from crosswind.studies.prove.cases import Case, cases_as_written, fetch_catalogue
from crosswind.studies.prove.episodes import answer_with
from crosswind.studies.stack import Processes, RunningGateway, start_gateway
from crosswind.testing import ScriptedProvider

MAX_TURNS = 90
PATIENCE = 6
ROUNDS = 4
"""Profiles under which no noise acted get further entries, so often at most: a fault of the first call finds
few entries that begin with a read."""
START_S = 60.0
ENTRIES = 200
"""More than a split has: after the last one the first comes again."""
KIND = "multi_turn_base"


async def play(tasks: Sequence[Task], each: int, profiles: Sequence[str], concurrency: int) -> list[Solved]:
    """Play so many entries under each profile, after each once without noise; those that BFCL's checker
    doesn't accept from the gold calls alone are left out."""
    provider = ScriptedProvider(answer_with(BFCL.oracle()), strict=False, keep=False)
    with TemporaryDirectory(prefix="crosswind-bfcl-") as folder:
        async with provider, Processes(Path(folder) / "logs") as processes:
            gateway = await start_gateway(
                *(processes, provider.base_url, Path(folder) / "crosswind.db", "--profile", "off"),
                wait_s=START_S,
                replayable=False,
            )
            table = _Table(gateway, concurrency)
            await table.play([(Case("off", "off"), task) for task in tasks])
            unsolved = _names(table.rows[0].unsolved)
            solvable = [task for task in tasks if task.id not in unsolved]
            catalogue = await fetch_catalogue(gateway.control)
            # Mixed: entries of one domain stand together.
            turn = cycle(sorted(solvable, key=lambda task: stable_seed("bfcl", task.id)))
            cases = [case for case in cases_as_written(catalogue, profiles) if case.subject != "off"]
            for _ in range(ROUNDS):
                await table.play([(case, next(turn)) for case in cases for _ in range(each)])
                cases = [case for case in cases if table.is_idle(case)]
            return table.rows


def _names(unsolved: Sequence[str]) -> set[str]:
    return {one.partition(":")[0] for one in unsolved}


@dataclass(frozen=True, slots=True)
class _Table:
    """Where entries are played."""

    gateway: RunningGateway
    concurrency: int
    _rows: dict[tuple[str, int | None], Solved] = field(default_factory=dict)

    @property
    def rows(self) -> list[Solved]:
        return list(self._rows.values())

    def is_idle(self, case: Case) -> bool:
        """Whether noise that the case has never acted."""
        row = self._rows[case.profile, case.level]
        return row.noisy and not row.injected

    async def play(self, jobs: Sequence[tuple[Case, Task]]) -> None:
        begun = sum(row.played for row in self.rows if row.noisy)
        waiting = iter(enumerate(jobs, begun))
        async with AsyncClient(self.gateway.control) as client, model_client(max_retries=2) as model:

            async def work() -> None:
                for number, (case, task) in waiting:
                    row = self._rows.setdefault((case.profile, case.level), Solved(case.profile, case.level))
                    settings = AgentSettings(
                        max_turns=MAX_TURNS, stream=bool(number % 2), patience=PATIENCE, max_tokens=512
                    )
                    agent = ToolAgent(BFCL, settings)
                    runner = EpisodeRunner(BFCL, agent, client, model=model, count_noise=True)
                    session = {"arm": "noisy", "profile": case.profile, "seed": number, "seed_scope": "task"}
                    if case.level is not None:
                        session["level"] = case.level
                    record = await runner.run(Job(task, number, ("bfcl", number), session))
                    row.played += 1
                    row.injected += record.injected
                    row.withheld += record.withheld
                    if record.verdict is not None and record.verdict.reward == 1.0:
                        row.solved += 1
                    else:
                        row.unsolved.append(f"{task.id}: seed {number}: {record.error or 'judged wrong'}")

            async with asyncio.TaskGroup() as workers:
                for _ in range(self.concurrency):
                    workers.create_task(work())


def measure(each: int, count: int, profiles: Sequence[str], concurrency: int) -> list[Solved]:
    """Play so many entries under each profile, out of `count` spread over the package's own order."""
    splits = [islice(BFCL.tasks(split, kinds=KIND, seed=0), ENTRIES) for split in SPLITS]
    found = sorted({task.id: task for split in splits for task in split}.values(), key=lambda task: task.id)
    return asyncio.run(play(bfcl.spread(found, count), each, profiles, concurrency))
