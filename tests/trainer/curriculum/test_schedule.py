"""The presets' schedules on simulated policies: when noise rises, and when it mustn't."""

from __future__ import annotations

import random

from crosswind.injectors.engine.curriculum import assign
from crosswind.trainer.config.settings import configure
from crosswind.trainer.curriculum.gap import GapState, advance, begin, curriculum
from crosswind.trainer.rollouts.groups import Group
from tests.trainer.curriculum.test_gap import group

TYPES = ("tool.incomplete", "tool.misleading", "tool.timeout", "user.redundant", "user.typos")
CLEAN = 0.98


def play_step(preset: str, state: GapState, costs: dict[str, float], rng: random.Random) -> list[Group]:
    """A step's groups as the preset plays them, where a type of noise costs so much of clean success."""
    config = configure(preset, {})
    declared, size, played = curriculum(state, config.curriculum, config.advantages), config.group_size, []
    for number in range(config.groups_per_step):
        name, rollouts = f"{state.step}-{number}-{rng.random()}", []
        for index in range(size):
            one = assign(declared, seed=1, group_id=name, rollout_index=index, group_size=size)
            cost = 0.0 if one.noise_type is None else costs[one.noise_type]
            rollouts.append((float(rng.random() < CLEAN - cost), one.noise_type, one.level))
        played.append(group(name, *rollouts))
    return played


def follow(preset: str, seed: int, steps: int, cost_at: dict[str, tuple[float, float]]) -> list[GapState]:
    """The states after each step, where each type's cost goes from the first number to the second."""
    settings, rng = configure(preset, {}).curriculum.gap, random.Random(f"{preset}|{seed}")
    states = [begin("noisyagent", TYPES, 5, settings)]
    for step in range(steps):
        done = step / max(1, steps - 1)
        costs = {name: max(0.0, first + (last - first) * done) for name, (first, last) in cost_at.items()}
        states.append(advance(states[-1], play_step(preset, states[-1], costs, rng), settings)[0])
    return states


def test_the_demos_noise_rises_over_the_whole_run() -> None:
    """A policy that reads its users from the start, and learns about its tools one after the other: as it was
    measured.
    """
    costs = {
        "tool.incomplete": (0.5, 0.0),
        "tool.misleading": (0.5, 0.3),
        "tool.timeout": (0.5, -0.3),
        "user.redundant": (0.06, 0.02),
        "user.typos": (0.06, 0.02),
    }
    thirds = {0: 0, 1: 0, 2: 0}
    for seed in range(12):
        states = follow("demo", seed, 15, costs)
        rho = [round(state.rho, 6) for state in states]
        assert rho[0] < rho[5] < rho[10] <= 0.5, rho
        assert rho[7] < 0.5, "it isn't at its cap half-way"
        for third in thirds:
            before, after = states[5 * third], states[5 * third + 5]
            thirds[third] += any(after.types[name].level > before.types[name].level for name in TYPES)
    assert min(thirds.values()) >= 9, thirds


def test_no_type_of_the_demo_rises_by_chance_where_it_costs_twice_theta() -> None:
    """One that costs next to nothing does rise."""
    gap = configure("demo", {}).curriculum.gap
    theta, start = gap.theta, gap.start_level

    def share_raised(cost: float) -> float:
        runs = [follow("demo", seed, 15, dict.fromkeys(TYPES, (cost, cost)))[-1] for seed in range(12)]
        levels = [window.level for state in runs for window in state.types.values()]
        return sum(level > start for level in levels) / len(levels)

    assert share_raised(2 * theta) <= 0.1
    assert share_raised(0.1 * theta) >= 0.9
