"""user.inconsistent: said wrongly or doubted first, settled last, in one message."""

from __future__ import annotations

import dataclasses
import re

import pytest

from crosswind.injectors.cli.examples import USER_TEXT
from crosswind.injectors.operators.words.requests import OTHERS
from tests.injectors.operators.acting import shown, user_target
from tests.injectors.operators.worked.sample import in_order

SETTLED = re.compile(r"To settle it, and this is final: (.+)\.$")


def test_choices_values_and_quantities_are_put_in_doubt_and_settled() -> None:
    text = "Hi, I need to know how many bags I can bring in economy on flight KX417 on Monday."
    settled = set()
    for after in shown("user.inconsistent", user_target(text)):
        assert in_order(text, after)
        found = SETTLED.search(after)
        assert found is not None
        last = set(found[1].split(", "))
        settled |= last
        assert len(last) == 3
        assert ("business" in after) == ("economy" in last)
        assert ("I was not sure whether it is KX417 or another one" in after) == ("KX417" in last)
        assert ("so I am not sure." in after) == ("what you find about how many bags" in last)
    assert settled == {"economy", "KX417", "Monday", "what you find about how many bags"}


@pytest.mark.parametrize(
    "text,phrase",
    [
        ("How many are left?", "how many"),
        ("Say how much it costs.", "how much"),
        ("I ask how many seats there are, once more how many seats.", "how many seats"),
    ],
)
def test_a_quantity_is_doubted_in_the_words_that_ask_for_it(text: str, phrase: str) -> None:
    for after in shown("user.inconsistent", user_target(text), seeds=5):
        assert after.endswith(f"what you find about {phrase}.") and after.count("so I am not sure.") == 1


def test_the_true_value_comes_last() -> None:
    contradicted = 0
    for after in shown("user.inconsistent", user_target(USER_TEXT), 0.9):
        settled = SETTLED.search(after)
        if settled is None:
            assert after == USER_TEXT
            continue
        for true in settled[1].split(", "):
            wrong = [other for other in OTHERS.get(true, ()) if other in after]
            contradicted += len(wrong)
            assert all(after.rindex(other) < after.rindex(true) for other in wrong)
    assert contradicted > 20


def test_severity_brings_more_contradictions_and_earlier_ones() -> None:
    def said(severity: float, words: str) -> int:
        return sum(after.count(words) for after in shown("user.inconsistent", target, severity, seeds=200))

    target = user_target("I would like the blue kettle for Monday morning, please.")
    early, near = said(1.0, "No, that is wrong."), said(1.0, "no, I mean")
    assert (early, near) == (600, 0)
    assert said(0.3, "no, I mean") > said(0.3, "No, that is wrong.") > 0


@pytest.mark.parametrize(
    "text",
    [
        "I really need the right one, and there is little time left.",
        "I do not want the blue one.",
        "Is it red or blue?",
        "I have a red cup and would exchange it for another red cup.",
        'It says "the blue kettle" on the box.',
    ],
)
def test_what_could_be_misread_is_not_contradicted(text: str) -> None:
    assert set(shown("user.inconsistent", user_target(text))) == {text}


def test_what_other_noise_said_is_never_called_final() -> None:
    own = "Please exchange the blue kettle from order #W1."
    noisy = f"{own} Surely a small exception would be fine?"
    target = dataclasses.replace(user_target(noisy), clean=own)
    settled = [SETTLED.search(after) for after in shown("user.inconsistent", target)]
    assert {value for match in settled if match for value in match[1].split(", ")} == {"blue", "#W1"}
    assert any("small." in after[-8:] for after in shown("user.inconsistent", user_target(noisy)))
