"""user.ambiguous: less is said, and what is needed comes when it is asked for."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosswind.injectors import registry
from crosswind.injectors.cli.examples import USER_TEXT
from crosswind.injectors.conversation import ToolSchema
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.text import entities
from tests.injectors.dialogues import texts
from tests.injectors.operators.acting import acts, shown, user_target

FACTS = ("#W2378156", "mia.garcia@example.com", "Friday")

DOMAINS = {
    "Please book a table for 4 guests.": "Please book a table for some guests.",
    "Move the meeting to the small room at 3 pm.": "Move the meeting to the small room at that time.",
    "Could you rebook me after 2026-11-15?": "Could you rebook me after that day?",
    "Schedule the backup on 3rd of March, 2026, please.": "Schedule the backup on that day, please.",
    "Transfer $1,500, and tell me the fee.": "Transfer a certain amount, and tell me the fee.",
    "Please discharge patient P-1042 and free the bed.": "Please discharge the patient and free the bed.",
    "Show me the vitals of subject S17.": "Show me the vitals of the subject.",
    "What is the weather like in New York?": "What is the weather like there?",
}
"""A request of each domain, and what is left of it."""

TOOLS = [
    ToolSchema("weather", "Weather of a place.", {"properties": {"city": {}, "date": {}}}),
    ToolSchema("vitals", "Vital signs.", {"properties": {"subject_id": {}}}),
]


def test_one_fact_is_withheld_and_the_others_stay() -> None:
    seen = shown("user.ambiguous", user_target(USER_TEXT))
    assert all(sum(fact in after for fact in FACTS) == 2 for after in seen)
    assert all(any(fact not in after for after in seen) for fact in FACTS)
    assert all("the other one" in after for after in seen)


@pytest.mark.parametrize("text", DOMAINS)
def test_a_fact_of_any_domain_is_withheld(text: str) -> None:
    assert set(shown("user.ambiguous", user_target(text, tools=TOOLS))) == {DOMAINS[text]}


def test_a_place_is_withheld_only_where_a_tool_takes_one() -> None:
    text = "Write the program in Haskell for me."
    assert all("Haskell" in after for after in shown("user.ambiguous", user_target(text)))


@pytest.mark.parametrize("can_answer", [True, False])
def test_a_request_without_facts_is_vague_about_its_words(can_answer: bool) -> None:
    text = "It rains. Could you list the files of the folder?"
    for after in shown("user.ambiguous", user_target(text, can_answer=can_answer)):
        assert after.startswith("It rains. Could you list the files of the folder, ") and after.endswith("?")


def test_what_is_passed_on_word_for_word_gets_no_doubt() -> None:
    text = 'Post a message that says "the trip is done"'
    assert set(shown("user.ambiguous", user_target(text))) == {text}


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
        "Move it from Monday to some time before Friday.",
        "Fly me from Paris to Rome.",
        "I am a@example.com and want it sent to b@example.com.",
        'Send it to "order #W1".',
    ],
)
def test_what_could_be_taken_for_something_else_is_not_left_out(text: str) -> None:
    for after in shown("user.ambiguous", user_target(text)):
        assert entities.find_lost(text, after) is None
