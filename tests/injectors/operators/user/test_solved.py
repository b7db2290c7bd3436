"""What a user's noise leaves of a task: all of it. An agent that sees the noisy messages alone solves it."""

from __future__ import annotations

from itertools import islice

import pytest

from crosswind.injectors.engine.plan import Seed, make_plan
from crosswind.injectors.profiles.load import parse
from crosswind.simulators.episodes.demonstrations import play
from tests.simulators.noisy_view import NoisyView
from tests.simulators.test_retail_oracle import RETAIL, Blurred

OPERATORS = [
    "user.ambiguous",
    "user.boundary_probing",
    "user.cost_cue",
    "user.inconsistent",
    "user.out_of_scope",
    "user.paraphrase",
    "user.speed_cue",
    "user.topic_drift",
    "state.irrelevant",
]


@pytest.mark.parametrize("name", OPERATORS)
def test_every_task_is_solved_at_full_severity(name: str) -> None:
    profile = parse(f"name: t\nrules: [{{operator: {name}, severity: 1.0}}]", "t.yaml")
    tasks = injected = 0
    for task in islice(RETAIL.tasks("test", kinds="all", seed=5), 26):
        plan = make_plan(profile, Seed(5, task.id, "task"))
        view = NoisyView(plan, RETAIL.tools)
        messages, verdict = play(RETAIL.reset(task, 5), Blurred(RETAIL.oracle(), view), RETAIL.instructions)
        assert verdict.reward == 1.0, (task, view.of(messages))
        tasks += 1
        injected += view.injected
    assert injected > tasks / 2
