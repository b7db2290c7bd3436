"""user.ambiguous: less is said, and what is needed comes when it is asked for."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosswind.injectors import registry
from crosswind.injectors.cli.examples import USER_TEXT
from crosswind.injectors.streams import Stream
from crosswind.injectors.text import entities
from crosswind.simulators.retail.intent import kind_of
from crosswind.simulators.retail.kinds import KINDS
from tests.injectors.dialogues import texts
from tests.injectors.operators.user.acting import shown, user_target

AMBIGUOUS = registry.resolve("user.ambiguous").implementation


def test_the_papers_code_is_its_alias() -> None:
    assert registry.resolve("ambiguity").name == "user.ambiguous"


@pytest.mark.parametrize("name", ["order", "email"])
def test_one_fact_is_withheld_and_the_others_stay(name: str) -> None:
    facts = {"order": "#W2378156", "email": "mia.garcia@example.com"}
    seen = shown("user.ambiguous", user_target(USER_TEXT), 1.0)
    assert any(facts[name] not in after for after in seen)
    assert all(sum(fact in after for fact in facts.values()) == 1 for after in seen)
    assert all("the other one" in after and "Friday" in after for after in seen)


def test_what_is_withheld_is_stored_for_the_report() -> None:
    draw = AMBIGUOUS.draw(user_target("Please cancel order #W1."), Stream("x"), 1.0)
    assert draw is not None and json.loads(json.dumps(draw))["withheld"] == ["order #W1"]
    assert AMBIGUOUS.apply(user_target("Please cancel order #W1."), draw).payload == "Please cancel my order."


@settings(max_examples=60, deadline=None)
@given(text=texts, seed=st.integers(0, 1000))
def test_nothing_is_withheld_from_who_can_not_ask(text: str, seed: int) -> None:
    target = user_target(text, can_answer=False)
    draw = AMBIGUOUS.draw(target, Stream(f"a|{seed}"), 1.0)
    if draw is not None:
        after = str(AMBIGUOUS.apply(target, draw).payload)
        assert entities.survive(text, after) is None


def test_an_answer_is_never_vague() -> None:
    assert set(shown("user.ambiguous", user_target(USER_TEXT, ordinal=1), 1.0)) == {USER_TEXT}


@pytest.mark.parametrize(
    "text",
    [
        "Move the item from order #W1 to order #W2.",
        "I am a@example.com and want it sent to b@example.com.",
        'Send it to "order #W1".',
    ],
)
def test_what_could_be_taken_for_something_else_is_not_left_out(text: str) -> None:
    assert set(shown("user.ambiguous", user_target(text), 1.0)) == {text}


@pytest.mark.parametrize("kind", KINDS)
def test_the_intent_of_a_request_is_still_read_from_it(kind: str) -> None:
    same = {"withheld": "status"}
    for wording in KINDS[kind].wordings:
        text = wording.format(
            order="#W1234",
            product="#P1234",
            name="kettle",
            email="a.b@example.com",
            old="a.b@example.com",
            new="c.d@example.com",
            address="1 Main Street",
        )
        for after in shown("user.ambiguous", user_target(text), 1.0, seeds=5):
            assert same.get(kind_of(after), kind_of(after)) == same.get(kind, kind)
