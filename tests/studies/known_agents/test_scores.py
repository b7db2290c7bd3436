"""The figures of agents with known behaviour are those that can be computed by hand, on both environments."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from crosswind.figures.attempts import Arm, Attempt, ErrorMode, Void
from crosswind.figures.figures import Figures, measure
from crosswind.gateway.client import AsyncClient
from crosswind.gateway.trajectory.store import open_store
from crosswind.simulators.environment import Environment, Task, equip, load
from crosswind.simulators.episodes.agent import AgentSettings, ToolAgent
from crosswind.simulators.episodes.record import Job
from crosswind.simulators.episodes.runner import EpisodeRunner, model_client
from crosswind.studies.attempts import read_attempts, with_labels
from crosswind.studies.stack import Processes, start_gateway
from crosswind.testing import ScriptedProvider
from tests.simulators.bfcl_package import need_bfcl
from tests.studies.known_agents.agents import WORDS, KnownAgents

PROFILE = "robustbench-tc/Timeout"
"""The first call of each session that may be repeated times out, once."""
SAMPLES = 2
TASKS = 5
AGENTS = ("perfect", "no-retry", "gullible", "verbose", "dead", "lucky", "slow")


@dataclass(frozen=True)
class World:
    environment: Environment
    tasks: Sequence[Task]
    needs_results: bool
    """Whether an agent that believes a failed result fails: else its calls alone are judged."""


def world_of(name: str) -> World:
    if name == "retail":
        retail = load("retail")
        tasks = list(islice(retail.tasks("test", kinds="all", seed=1), 200))
        return World(retail, [task for task in tasks if task.kind == "status"][:TASKS], True)
    bfcl = need_bfcl()
    # Those whose first call reads: a fault there is recovered from by another call.
    tasks = [
        task
        for task in islice(bfcl.tasks("test", kinds="multi_turn_base", seed=1), 40)
        if first_call_reads(bfcl, task)
    ]
    return World(bfcl, tasks[:TASKS], False)


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
async def played(world: World, folder: Path) -> AsyncIterator[Mapping[str, list[Attempt]]]:
    """Every agent's attempts, as a store has them."""
    agents = KnownAgents(world.environment)
    provider = ScriptedProvider(agents.decide, strict=False, keep=False)
    path = folder / "crosswind.db"
    async with provider, Processes(folder / "logs") as processes:
        gateway = await start_gateway(
            processes, provider.base_url, path, "--profile", "off", wait_s=60, replayable=False
        )
        async with AsyncClient(gateway.control) as client, model_client(max_retries=0) as model:

            async def play(agent: str, sample: int) -> None:
                settings = AgentSettings(
                    f"{agent}/{sample}",
                    max_tokens=512,
                    max_turns=60,
                    timeout_s=0.5 if agent == "slow" else 60,
                )
                playing = ToolAgent(world.environment, settings)
                runner = EpisodeRunner(world.environment, playing, client, model=model)
                for task in world.tasks[: 1 if agent == "slow" else None]:
                    for arm in Arm:
                        session: dict[str, Any] = {
                            "arm": arm.value,
                            "rollout_index": sample,
                            "labels": {"agent": agent, "arm": arm.value, "sample": sample},
                        }
                        if arm is Arm.NOISY:
                            session |= {"profile": PROFILE, "seed": 7, "seed_scope": "task"}
                        await runner.run(Job(task, 0, (agent, task.id, sample), session))

            async with asyncio.TaskGroup() as group:
                for agent in AGENTS:
                    for sample in range(SAMPLES):
                        group.create_task(play(agent, sample))
            agents.over.set()
    with closing(open_store(f"sqlite:///{path}")) as store:
        yield {agent: list(read_attempts(store, with_labels({"agent": agent})).attempts) for agent in AGENTS}


def scores(figures: Figures) -> tuple[float | None, float | None]:
    return figures.arms["clean"].success, figures.arms["noisy"].success


@pytest.mark.parametrize("name", ["retail", "bfcl"])
async def test_known_agents_get_the_scores_computed_by_hand(name: str, tmp_path: Path) -> None:
    world = world_of(name)
    assert len(world.tasks) == TASKS
    async with played(world, tmp_path) as attempts:
        found = {agent: measure(mine) for agent, mine in attempts.items()}
    each = TASKS * SAMPLES
    for agent in AGENTS[:-1]:
        assert found[agent].arms["clean"].counted == found[agent].arms["noisy"].counted == each, agent
    # Success.
    assert scores(found["perfect"]) == scores(found["verbose"]) == (1.0, 1.0)
    assert scores(found["no-retry"]) == (1.0, 0.0)
    assert scores(found["gullible"]) == (1.0, 0.0 if world.needs_results else 1.0)
    assert scores(found["dead"]) == (0.0, None), "without a call there is nothing that could time out"
    assert scores(found["lucky"])[0] == 0.5
    # The drop, and the tasks that flipped.
    lost = found["no-retry"].drop.paired
    assert lost is not None and (lost.difference, lost.low, lost.high) == (-1.0, -1.0, -1.0)
    assert {flip.task for flip in found["no-retry"].flips} == {task.id for task in world.tasks}
    assert found["no-retry"].drop.retention.value == 0.0
    assert found["perfect"].drop.retention.value == 1.0 and found["perfect"].flips == ()
    assert found["dead"].drop.because != ""
    # Of two samples, one is lucky.
    [_, pair] = found["lucky"].arms["clean"].samples
    assert (pair.k, pair.avg, pair.any, pair.all) == (2, 0.5, 1.0, 0.0)
    # Noise: one fault a session, and its cost in calls.
    assert {len(one.faults) for one in attempts["perfect"] if one.arm is Arm.NOISY} == {1}
    assert {one.operator for mine in attempts.values() for each in mine for one in each.faults} == {
        "tool.timeout"
    }
    clean, noisy = (found["perfect"].arms[arm].tool_calls for arm in ("clean", "noisy"))
    assert clean is not None and noisy == clean + 1
    assert all(one.recovered for each in attempts["perfect"] for one in each.faults)
    assert not any(one.recovered for each in attempts["no-retry"] for one in each.faults)
    # What words cost: the same, before each call.
    plain, wordy = (found[agent].arms["clean"] for agent in ("perfect", "verbose"))
    assert plain.tool_calls is not None and plain.tokens_out is not None and wordy.tokens_out is not None
    assert wordy.tokens_out - plain.tokens_out == pytest.approx(WORDS * plain.tool_calls)
    # Failures of the dead have a name, and a model that doesn't answer isn't the agent's failure.
    assert found["dead"].error_modes["clean"] == {ErrorMode.EMPTY.value: each}
    assert {one.void for one in attempts["slow"]} <= {Void.INFRASTRUCTURE, Void.UPSTREAM, Void.TIMEOUT}
    assert all(one.success is None for one in attempts["slow"])
