"""The figures of agents with known behaviour are those that can be computed by hand, on both environments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from crosswind.figures.attempts import Arm, ErrorMode, Void
from crosswind.figures.figures import Figures, measure
from crosswind.injectors.profiles.load import names
from tests.studies.known_agents.agents import WORDS
from tests.studies.known_agents.expected import expect_success, mean_over_tasks
from tests.studies.known_agents.playing import AGENTS, Played, World, played, world_of

PROFILE = "robustbench-tc/Timeout"
"""The first call of each session that may be repeated times out, once."""
SAMPLE = (
    PROFILE,
    "agentnoisebench/error",
    "chaos/flaky-tools",
    "chaos/confused-users",
    "robustbench-tc/reward",
)
TASKS = 3


def success(figures: Figures, arm: Arm) -> float | None:
    return figures.arms[arm.value].success


def check_scores(world: World, found: Played, profiles: Sequence[str]) -> None:
    """Every attempt's success, and the figures, are those computed by hand, under every profile."""
    for agent in AGENTS.keys() - {"slow"}:
        each = len(world.tasks) * AGENTS[agent]
        for profile in profiles:
            attempts = found.of(agent, profile)
            where = f"{agent} under {profile}"
            expected = [expect_success(agent, one, found, world.needs_results) for one in attempts]
            assert [one.success for one in attempts] == expected, where
            figures = measure(attempts)
            assert figures.arms["clean"].counted == figures.arms["noisy"].counted == each, where
            clean, noisy = (mean_over_tasks(attempts, expected, arm) for arm in Arm)
            assert success(figures, Arm.CLEAN) == pytest.approx(clean), where
            if not any(one.exposed for one in attempts):
                assert success(figures, Arm.NOISY) is None and figures.drop.because, where
                continue
            assert success(figures, Arm.NOISY) == pytest.approx(noisy), where
            assert figures.drop.paired is not None
            assert figures.drop.paired.difference == pytest.approx(noisy - clean), where
    for profile in profiles:
        for agent in ("perfect", "verbose"):
            assert success(measure(found.of(agent, profile)), Arm.NOISY) in (1.0, None)
        assert success(measure(found.of("dead", profile)), Arm.NOISY) in (0.0, None)
    # A model that doesn't answer isn't the agent's failure, unless noise answers in its place.
    for one in found.of("slow"):
        lost = one.void in (Void.INFRASTRUCTURE, Void.UPSTREAM, Void.TIMEOUT) and one.success is None
        assert lost or (one.exposed and one.success == 0.0)


def check_timeouts(world: World, found: Played) -> None:
    """What one fault in each session does to the figures beside success."""
    figures: Mapping[str, Figures] = {agent: measure(found.of(agent, PROFILE)) for agent in AGENTS}
    lost = figures["no-retry"].drop.paired
    assert lost is not None and (lost.difference, lost.low, lost.high) == (-1.0, -1.0, -1.0)
    assert {flip.task for flip in figures["no-retry"].flips} == {task.id for task in world.tasks}
    assert figures["no-retry"].drop.retention.value == 0.0
    assert figures["perfect"].drop.retention.value == 1.0 and figures["perfect"].flips == ()
    # Without a call there is nothing that could time out.
    assert success(figures["dead"], Arm.NOISY) is None and figures["dead"].drop.because
    # Of two samples, one is lucky.
    [_, pair] = figures["lucky"].arms["clean"].samples
    assert (pair.k, pair.avg, pair.any, pair.all) == (2, 0.5, 1.0, 0.0)
    # Noise: one fault a session, and its cost in calls.
    faults = {
        agent: [one.faults for one in found.of(agent, PROFILE) if one.arm is Arm.NOISY] for agent in AGENTS
    }
    assert {len(mine) for mine in faults["perfect"]} == {1}
    assert {one.operator for mine in faults.values() for each in mine for one in each} == {"tool.timeout"}
    assert all(one.recovered for each in faults["perfect"] for one in each)
    assert not any(one.recovered for each in faults["no-retry"] for one in each)
    clean, noisy = (figures["perfect"].arms[arm].tool_calls for arm in ("clean", "noisy"))
    assert clean is not None and noisy == clean + 1
    # What words cost: the same, before each message that calls.
    plain, wordy = (figures[agent].arms["clean"] for agent in ("perfect", "verbose"))
    assert plain.tool_calls is not None and plain.tokens_out is not None and wordy.tokens_out is not None
    messages = plain.tool_calls / world.calls_at_once
    assert wordy.tokens_out - plain.tokens_out == pytest.approx(WORDS * messages)
    # Failures of the dead have a name.
    assert figures["dead"].error_modes["clean"] == {ErrorMode.EMPTY.value: len(world.tasks)}


@pytest.mark.parametrize("name", ["retail", "bfcl"])
async def test_known_agents_get_the_scores_computed_by_hand(name: str, tmp_path: Path) -> None:
    world = world_of(name, TASKS)
    assert len(world.tasks) == TASKS
    async with played(world, SAMPLE, tmp_path) as found:
        check_scores(world, found, SAMPLE)
        check_timeouts(world, found)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["retail", "bfcl"])
async def test_known_agents_under_every_profile(name: str, tmp_path: Path) -> None:
    world = world_of(name, TASKS + 1)
    async with played(world, names(), tmp_path) as found:
        check_scores(world, found, names())
