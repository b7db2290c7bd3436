"""Noise that says the same each time is told, and so is what acts too seldom to judge."""

from __future__ import annotations

import json

import pytest

from crosswind.injectors.profiles.load import Profile, parse
from crosswind.studies.conversations import RecordedConversation
from crosswind.studies.evolve.detectability import LIMITS, Detectability, measure_detectability
from tests.injectors.dialogues import TOOLS, call, conversation

PLACES = ("Rome", "Oslo", "Lima", "Cairo", "Seoul", "Quito")
THINGS = ("lamp", "chair", "desk", "shelf", "sofa", "clock", "mirror")


def record(number: int) -> RecordedConversation:
    thing, place = THINGS[number % 7], PLACES[number % 6]
    status = ("shipped", "pending", "delivered")[number % 3]
    order = {"order_id": f"W{number}", "status": status, "city": place, "weight_kg": number * 37 % 101 + 7}
    result = json.dumps(order)
    messages = [
        {"role": "user", "content": f"Where is order W{number}, the {thing} that goes to {place}?"},
        *call("get_order", {"order_id": f"W{number}"}, result, number),
    ]
    return RecordedConversation(f"c{number}", conversation(messages, TOOLS), 1)


RECORDED = [record(number) for number in range(60)]


def profile(operator: str, when: str = "{}") -> Profile:
    rule = f"{{operator: {operator}, severity: 1.0, when: {when}}}"
    return parse(f"name: t\nassume_tools: replayable\nrules:\n  - {rule}\n", "t")


@pytest.mark.parametrize("operator", ["tool.timeout", "schema.misleading_description"])
def test_noise_that_says_the_same_each_time_is_told(operator: str) -> None:
    found = measure_detectability(profile(operator), RECORDED, 0)
    assert found.phrases > 0.9 and found.regression > 0.9 and found.exceeds(LIMITS)
    assert found == measure_detectability(profile(operator), RECORDED, 0)


def test_values_of_the_conversations_own_kind_are_told_less() -> None:
    numbers = measure_detectability(profile("tool.numeric_noise"), RECORDED, 0)
    assert numbers.texts > 12 and numbers.overshoot(LIMITS) < 1 < Detectability(0.1, 0.7, 50).overshoot(
        LIMITS
    )


def test_what_acts_too_seldom_to_judge_is_refused() -> None:
    found = measure_detectability(profile("tool.timeout", "{nth: 9}"), RECORDED, 0)
    assert found.texts == 0 and found.exceeds(Detectability(1.0, 1.0, 0))
