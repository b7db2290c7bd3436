"""user.ambiguous: less is said, and what is needed comes when it is asked for."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosswind.injectors import registry
from crosswind.injectors.cli.examples import USER_TEXT
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.text import entities
from tests.injectors.dialogues import texts
from tests.injectors.operators.acting import acts, shown, user_target

FACTS = ("#W2378156", "mia.garcia@example.com")


def test_one_fact_is_withheld_and_the_others_stay() -> None:
    seen = shown("user.ambiguous", user_target(USER_TEXT))
    assert all(sum(fact in after for fact in FACTS) == 1 for after in seen)
    assert all(any(fact not in after for after in seen) for fact in FACTS)
    assert all("the other one" in after and "Friday" in after for after in seen)


def test_the_draw_stores_what_is_withheld() -> None:
    for one in acts("user.ambiguous", user_target("Please cancel order #W1."), seeds=5):
        assert one is not None and one[0]["withheld"] == ["order #W1"]
        assert one[1] == "Please cancel my order."


@settings(max_examples=60, deadline=None)
@given(text=texts, seed=st.integers(0, 1000))
def test_nothing_is_withheld_from_who_can_not_ask(text: str, seed: int) -> None:
    ambiguous, target = registry.resolve("user.ambiguous"), user_target(text, can_answer=False)
    draw = ambiguous.draw({}, target, SeededRandom(f"a|{seed}"), 1.0)
    if draw is not None:
        assert entities.find_lost(text, str(ambiguous.apply(target, draw).payload)) is None


def test_an_answer_is_never_vague() -> None:
    assert set(shown("user.ambiguous", user_target(USER_TEXT, ordinal=1))) == {USER_TEXT}


@pytest.mark.parametrize(
    "text",
    [
        "Move the item from order #W1 to order #W2.",
        "I am a@example.com and want it sent to b@example.com.",
        'Send it to "order #W1".',
    ],
)
def test_what_could_be_taken_for_something_else_is_not_left_out(text: str) -> None:
    assert set(shown("user.ambiguous", user_target(text))) == {text}
