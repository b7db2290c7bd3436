"""The user asks, gives when asked what it withheld, and leaves with its answer or out of patience."""

from __future__ import annotations

import re

import pytest

from crosswind.simulators.environment import load
from crosswind.simulators.retail.kinds import KINDS
from crosswind.simulators.retail.tasks import instantiate
from crosswind.simulators.retail.user import PATIENCE

RETAIL = load("retail")
NUMBER = {kind: position for position, kind in enumerate(KINDS)}


def test_a_withheld_id_is_given_when_asked_for() -> None:
    task = RETAIL.task(f"retail-test-{NUMBER['withheld']:05d}")
    episode = RETAIL.reset(task, 0)
    order = instantiate(task.id).goal.values["order"]
    assert "#" not in episode.opening
    assert order in (episode.reply("What is the order id?") or "")
    assert episode.reply(f"Order {order} is shipped.") is None


@pytest.mark.parametrize("kind", KINDS)
def test_a_question_is_answered_in_every_kind_and_patience_ends(kind: str) -> None:
    task = RETAIL.task(f"retail-train-{NUMBER[kind]:05d}")
    episode = RETAIL.reset(task, 0)
    known = next(iter(instantiate(task.id).goal.values.values()))
    answers = [episode.reply("Which one, please?") for _ in range(PATIENCE + 1)]
    assert all(known in (answer or "") for answer in answers[:-1])
    assert answers[-1] is None


@pytest.mark.parametrize("kind", [name for name, kind in KINDS.items() if not kind.withholds])
def test_an_opening_holds_all_that_the_user_knows(kind: str) -> None:
    task = RETAIL.task(f"retail-train-{NUMBER[kind]:05d}")
    for seed in range(10):
        opening = RETAIL.reset(task, seed).opening
        assert all(value in opening for value in instantiate(task.id).goal.values.values())
        assert not re.search(r"[{}]", opening)
