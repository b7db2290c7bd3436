"""Plays the known agents' episodes on an environment, clean and under profiles, through a gateway."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from crosswind.figures.attempts import Arm, Attempt
from crosswind.gateway.client import AsyncClient
from crosswind.gateway.trajectory.record import Event
from crosswind.gateway.trajectory.store import open_store
from crosswind.simulators.environment import Environment, Task, equip, load
from crosswind.simulators.episodes.agent import AgentSettings, ToolAgent
from crosswind.simulators.episodes.record import Job
from crosswind.simulators.episodes.runner import EpisodeRunner, model_client
from crosswind.simulators.retail.transcript import AGREEING
from crosswind.studies.attempts import read_attempts, with_labels
from crosswind.studies.prove.episodes import PATIENCE
from crosswind.studies.stack import Processes, start_gateway
from crosswind.testing import ScriptedProvider
from tests.simulators.bfcl_package import need_bfcl
from tests.studies.known_agents.agents import KnownAgents, Overheard

AGENTS = {"perfect": 1, "no-retry": 1, "gullible": 1, "verbose": 1, "dead": 1, "lucky": 2, "slow": 1}
"""How often each attempts a task in an arm: but for the lucky one, they do the same each time."""
CONCURRENCY = 16


@dataclass(frozen=True)
class World:
    environment: Environment
    tasks: Sequence[Task]
    needs_results: bool
    """Whether an agent that believes a failed result fails: else its calls alone are judged."""
    calls_at_once: int
    """In one message of the perfect agent."""


@dataclass(frozen=True)
class Played:
    attempts: Mapping[str, Sequence[Attempt]]
    """By agent, as a store has them."""
    events: Mapping[str, Sequence[Event]]
    """By session, the noise that acted."""

    def of(self, agent: str, profile: str | None = None) -> list[Attempt]:
        """An agent's clean attempts, and the noisy ones: all, or those under a profile."""
        return [
            one
            for one in self.attempts[agent]
            if one.arm is Arm.CLEAN or profile is None or one.profile == profile
        ]

    def met(self, attempt: Attempt) -> Sequence[Event]:
        return self.events[attempt.sessions[0]]


def world_of(name: str, tasks: int) -> World:
    if name == "retail":
        retail = load("retail")
        drawn = islice(retail.tasks("test", kinds="all", seed=1), 40 * tasks)
        return World(retail, [task for task in drawn if task.kind == "status"][:tasks], True, AGREEING)
    bfcl = need_bfcl()
    # Those whose first call reads: a fault there is recovered from by another call.
    drawn = islice(bfcl.tasks("test", kinds="multi_turn_base", seed=1), 8 * tasks)
    return World(bfcl, [task for task in drawn if first_call_reads(bfcl, task)][:tasks], False, 1)


def first_call_reads(environment: Environment, task: Task) -> bool:
    episode = environment.reset(task, 0)
    equipment = equip(environment, episode)
    system = {"role": "system", "content": equipment.instructions}
    said = environment.oracle().decide(
        [system, {"role": "user", "content": episode.opening}], equipment.tools
    )
    episode.close()
    calls = said.get("tool_calls") or ()
    return any(equipment.tool_classes.get(one["function"]["name"]) == "read_only" for one in calls)


@asynccontextmanager
async def played(world: World, profiles: Sequence[str], folder: Path) -> AsyncIterator[Played]:
    """Every agent's attempts: each task clean and under each of the profiles."""
    agents = KnownAgents(world.environment)
    provider = ScriptedProvider(agents.decide, strict=False, keep=False)
    path = folder / "crosswind.db"
    async with provider, Processes(folder / "logs") as processes:
        gateway = await start_gateway(
            processes, provider.base_url, path, "--profile", "off", wait_s=60, replayable=False
        )
        async with AsyncClient(gateway.control) as client, model_client() as model:
            limit = asyncio.Semaphore(CONCURRENCY)

            async def play(agent: str, sample: int, task: Task, profile: str | None) -> None:
                key = f"{agent}/{sample}/{task.id}/{profile}"
                slow = agent == "slow"
                settings = AgentSettings(
                    key,
                    max_tokens=512,
                    max_turns=90,
                    timeout_s=0.5 if slow else 60,
                    # Faults of the link and the provider are the client's to get past.
                    patience=0 if slow else PATIENCE,
                )
                arm = Arm.CLEAN if profile is None else Arm.NOISY
                session: dict[str, Any] = {
                    "arm": arm.value,
                    "rollout_index": sample,
                    "labels": {"agent": agent, "arm": arm.value, "sample": sample},
                }
                if profile is not None:
                    session |= {"profile": profile, "seed": 7, "seed_scope": "task"}
                overheard = Overheard(world.environment, agents.told[key])
                asked = model.with_options(max_retries=0) if slow else model
                runner = EpisodeRunner(overheard, ToolAgent(overheard, settings), client, model=asked)
                async with limit:
                    await runner.run(Job(task, 0, (agent, task.id, sample), session))

            async with asyncio.TaskGroup() as group:
                for agent, samples in AGENTS.items():
                    for sample in range(samples):
                        for task in world.tasks[: 1 if agent == "slow" else None]:
                            for profile in (None, *profiles):
                                group.create_task(play(agent, sample, task, profile))
            agents.over.set()
    with closing(open_store(f"sqlite:///{path}")) as store:
        attempts = {agent: read_attempts(store, with_labels({"agent": agent})).attempts for agent in AGENTS}
        events = {}
        for session in (session for mine in attempts.values() for one in mine for session in one.sessions):
            found = store.trajectory(session)
            assert found is not None
            events[session] = [one for one in found.events if one.after is not None and one.slot]
    yield Played(attempts, events)
