"""user.topic_drift: the focus leaves the request and comes back to it."""

from __future__ import annotations

import pytest

from crosswind.injectors import registry
from crosswind.injectors.operators.user.asides import find_field
from crosswind.injectors.operators.words.asides import COMES_BACK, SIDE_QUESTIONS
from tests.injectors.operators.user.acting import BAGGAGE, shown, user_target


def test_the_papers_code_is_its_alias() -> None:
    assert registry.resolve("topic_shift").name == "user.topic_drift"


def test_the_worked_example_in_kind() -> None:
    for after in shown("user.topic_drift", user_target(BAGGAGE), 1.0):
        assert after.startswith(BAGGAGE)  # Where the example drops the reason and the plea, solvability wins.
        added = after[len(BAGGAGE) :]
        asked = [question for question in SIDE_QUESTIONS["travel"] if question in added]
        assert len(asked) in (1, 2)
        assert added.endswith(COMES_BACK)


def test_severity_is_the_share_of_turns() -> None:
    seen = shown("user.topic_drift", user_target(BAGGAGE), 0.5, seeds=400)
    assert 160 < sum(after != BAGGAGE for after in seen) < 240


@pytest.mark.parametrize(
    "text,field",
    [("When is my flight?", "travel"), ("Return my ORDER", "shopping"), ("Solve this.", "any")],
)
def test_the_side_questions_are_from_the_messages_own_field(text: str, field: str) -> None:
    assert find_field(text) == field
