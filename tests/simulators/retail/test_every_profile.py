"""Every built-in profile leaves every task solvable: an oracle that sees what an agent sees solves them."""

from __future__ import annotations

from itertools import islice

import pytest

from crosswind.injectors.engine.plan import Seed, make_plan
from crosswind.injectors.profiles.load import load, names
from tests.simulators.retail.noisy_view import RETAIL, play_noisy

WITHOUT_EFFECT = ("off", "noisyagent/interaction-pattern")
"""The latter rewrites what a simulated user is told, which no agent sees."""

TASKS = 130
"""Ten of each kind."""


@pytest.mark.parametrize("name", names())
def test_the_oracle_solves_every_task(name: str) -> None:
    profile = load(name)
    tasks = islice(RETAIL.tasks("test", kinds="all", seed=7), TASKS)
    views = [play_noisy(task, make_plan(profile, Seed(7, task.id, "task")), 7) for task in tasks]
    injected = any(view.injected for view in views)
    assert injected == (name not in WITHOUT_EFFECT), "and the noise really took place"
