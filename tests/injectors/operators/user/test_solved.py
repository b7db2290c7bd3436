"""A user's noise leaves the whole task: an agent that sees only the noisy messages solves it."""

from __future__ import annotations

from itertools import islice

import pytest

from crosswind.injectors.engine.plan import Seed, make_plan
from crosswind.injectors.profiles.load import parse
from crosswind.simulators.retail.intent import kind_of
from crosswind.simulators.retail.kinds import KINDS
from tests.injectors.operators.acting import shown, user_target
from tests.simulators.retail.noisy_view import RETAIL, play_noisy

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
    tasks = list(islice(RETAIL.tasks("test", kinds="all", seed=5), 26))
    views = [play_noisy(task, make_plan(profile, Seed(5, task.id, "task")), 5) for task in tasks]
    assert sum(view.injected for view in views) > len(tasks) / 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["user.ambiguous", "user.paraphrase"])
def test_the_intent_of_a_request_is_still_read_from_it(name: str, kind: str) -> None:
    same = {"withheld": "status"}  # The two differ by the order's id, not by their words.
    ids = {"order": "#W1234", "product": "#P1234", "name": "kettle", "address": "1 Main Street"}
    for wording in KINDS[kind].wordings:
        text = wording.format(**ids, email="a.b@example.com", old="a.b@example.com", new="c.d@example.com")
        for after in shown(name, user_target(text), seeds=10):
            assert same.get(kind_of(after), kind_of(after)) == same.get(kind, kind)
