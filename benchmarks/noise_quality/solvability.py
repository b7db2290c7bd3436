"""Play BFCL's multi-turn entries with the gold agent through a gateway, under every built-in profile."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.noise_quality import bfcl
from benchmarks.noise_quality.gold_agent import Entry, EntryEnvironment, GoldAgent
from benchmarks.noise_quality.samples import Call
from benchmarks.noise_quality.solved import Solved
from crosswind.gateway.client import AsyncClient
from crosswind.simulators.draws import stable_seed
from crosswind.simulators.environment import Message
from crosswind.simulators.episodes.agent import AgentSettings, ToolAgent
from crosswind.simulators.episodes.record import Job
from crosswind.simulators.episodes.runner import EpisodeRunner, model_client
from crosswind.studies.prove.cases import Case, cases_as_written, fetch_catalogue
from crosswind.studies.stack import Processes, RunningGateway, start_gateway
from crosswind.testing import ScriptedProvider, answer_messages

MAX_TURNS = 90
PATIENCE = 6
ROUNDS = 4
"""Profiles under which no noise acted get further entries, so often at most: a fault of the first call finds
few entries that begin with a read."""
START_S = 60.0
_CASE = re.compile(r"Case: (\w+)")


def read_entries(package: Path) -> list[Entry]:
    """The multi-turn entries whose gold calls all succeed."""
    data = package / "bfcl_eval" / "data"
    results = bfcl.execute(package)
    documents = bfcl.read_tools(data)
    entries = []
    for document, answer in bfcl.pairs(data, "multi_turn_base"):
        executed = results[document["id"]]
        calls = [[Call(*one) for one in turn] for turn in executed["turns"]]
        tools = [tool for name in executed["documents"] for tool in documents[name]]
        entries.append(Entry(document, answer["ground_truth"], calls, tools))
    return entries


async def play(
    entries: Sequence[Entry], each: int, profiles: Sequence[str], concurrency: int
) -> list[Solved]:
    """Play so many entries under each profile, after each once without noise; those that BFCL's checker
    doesn't accept from the gold calls alone are left out."""
    agents = {entry.id: GoldAgent(entry) for entry in entries}

    def decide(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> Message:
        found = _CASE.search(messages[0]["content"])
        assert found is not None
        return agents[found[1]].decide(messages, tools)

    provider = ScriptedProvider(answer_messages(decide), strict=False, keep=False)
    with TemporaryDirectory(prefix="crosswind-bfcl-") as folder:
        async with provider, Processes(Path(folder) / "logs") as processes:
            gateway = await start_gateway(
                *(processes, provider.base_url, Path(folder) / "crosswind.db", "--profile", "off"),
                wait_s=START_S,
                replayable=False,
            )
            table = _Table(gateway, {entry.id: EntryEnvironment(entry) for entry in entries}, concurrency)
            await table.play([(Case("off", "off"), entry.id) for entry in entries])
            solvable = [name for name in table.environments if name not in _names(table.rows[0].unsolved)]
            catalogue = await fetch_catalogue(gateway.control)
            # Mixed: entries of one domain stand together.
            turn = cycle(sorted(solvable, key=lambda name: stable_seed("bfcl", name)))
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
    environments: Mapping[str, EntryEnvironment]
    concurrency: int
    _rows: dict[tuple[str, int | None], Solved] = field(default_factory=dict)

    @property
    def rows(self) -> list[Solved]:
        return list(self._rows.values())

    def is_idle(self, case: Case) -> bool:
        """Whether noise that the case has never acted."""
        row = self._rows[case.profile, case.level]
        return row.noisy and not row.injected

    async def play(self, jobs: Sequence[tuple[Case, str]]) -> None:
        begun = sum(row.played for row in self.rows if row.noisy)
        waiting = iter(enumerate(jobs, begun))
        async with AsyncClient(self.gateway.control) as client, model_client(max_retries=2) as model:

            async def work() -> None:
                for number, (case, name) in waiting:
                    row = self._rows.setdefault((case.profile, case.level), Solved(case.profile, case.level))
                    environment = self.environments[name]
                    settings = AgentSettings(
                        max_turns=MAX_TURNS, stream=bool(number % 2), patience=PATIENCE, max_tokens=512
                    )
                    agent = ToolAgent(environment.instructions, environment.tools, settings)
                    runner = EpisodeRunner(environment, agent, client, model=model, count_noise=True)
                    session = {"arm": "noisy", "profile": case.profile, "seed": number, "seed_scope": "task"}
                    if case.level is not None:
                        session["level"] = case.level
                    task = environment.task(name)
                    record = await runner.run(Job(task, number, ("bfcl", number), session))
                    row.played += 1
                    row.injected += record.injected
                    row.withheld += record.withheld
                    if record.verdict is not None and record.verdict.reward == 1.0:
                        row.solved += 1
                    else:
                        row.unsolved.append(f"{name}: seed {number}: {record.error or 'judged wrong'}")

            async with asyncio.TaskGroup() as workers:
                for _ in range(self.concurrency):
                    workers.create_task(work())


def measure(each: int, count: int, profiles: Sequence[str], concurrency: int) -> list[Solved]:
    """Play so many entries under each profile, out of `count` spread over the package's own order."""
    package = bfcl.fetch()
    sys.path.insert(0, str(package.resolve()))
    return asyncio.run(play(bfcl.spread(read_entries(package), count), each, profiles, concurrency))
