"""Every built-in profile leaves every task solvable: an oracle that sees what an agent sees solves them."""

from __future__ import annotations

from itertools import islice

import pytest

from crosswind.injectors.engine.plan import Seed, make_plan
from crosswind.injectors.profiles.load import load, names
from crosswind.simulators.episodes.demonstrations import play
from tests.simulators.retail.noisy_view import NoisyView
from tests.simulators.retail.test_oracle import RETAIL, Blurred

WITHOUT_EFFECT = ("off", "noisyagent/interaction-pattern")
"""The latter rewrites what a simulated user is told, which no agent sees."""

TASKS = 130
"""Ten of each kind."""


@pytest.mark.parametrize("name", names())
def test_the_oracle_solves_every_task(name: str) -> None:
    profile = load(name)
    injected = 0
    for task in islice(RETAIL.tasks("test", kinds="all", seed=7), TASKS):
        plan = make_plan(profile, Seed(7, task.id, "task"))
        view = NoisyView(plan, RETAIL.tools)
        messages, verdict = play(RETAIL.reset(task, 7), Blurred(RETAIL.oracle(), view), RETAIL.instructions)
        assert verdict.reward == 1.0, (task, view.of(messages))
        injected += view.injected
    assert (injected > 0) == (name not in WITHOUT_EFFECT), "and the noise really took place"
