"""user.inconsistent: said wrongly or doubted first, settled last, in the same message or in the next."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosswind.injectors.cli.examples import USER_TEXT
from crosswind.injectors.conversation import Conversation, Ref, UserText
from crosswind.injectors.engine.decision import KnownText, NewText
from crosswind.injectors.engine.messages import perturb_messages
from crosswind.injectors.engine.plan import CompiledRule, Plan
from crosswind.injectors.guard.bounds import Bounds
from crosswind.injectors.guard.solvability import NO_ROOM
from crosswind.injectors.identity import text_anchor
from crosswind.injectors.operators.words.requests import OTHERS
from crosswind.injectors.profiles.schedule import When
from tests.injectors.operators.acting import shown, user_target
from tests.injectors.operators.worked.sample import in_order

SETTLED = re.compile(r"To settle it, and this is final: (.+)\.$")


SAYS = (
    "I want to return the blue lamp of order #W2378156.",
    "Yes, please go on.",
    "Thanks, and where is my refund?",
    "Good.",
)
FIRST = When(first_call=True)


def plan(when: When = FIRST, *, seed: int = 3, **more: Any) -> Plan:
    rule = CompiledRule(
        "user.inconsistent", "user.inconsistent", 1.0, when, options={"settles": "next_message"}
    )
    return Plan("p", 1, seed, "session", "s", "noisy", rules=(rule,), **more)


def conversation(count: int) -> Conversation:
    anchors = [text_anchor("user_text", f"{at} {text}", 0) for at, text in enumerate(SAYS)]
    return Conversation(tuple(UserText(Ref(2 * at), SAYS[at], anchors[at], at) for at in range(count)))


def by_turns(made: Plan, turns: int = len(SAYS), spared: frozenset[int] = frozenset()) -> list[NewText]:
    """The messages as a session meets them one by one; in those that are `spared` nothing is decided."""
    known: dict[str, KnownText] = {}
    found = []
    for count in range(1, turns + 1):
        out = perturb_messages(made, conversation(count), known, allow_new=count - 1 not in spared)
        (new,) = out.new
        known[new.item.anchor] = KnownText(new.text, new.decisions)
        found.append(new)
    return found


def drawn(new: NewText, member: str) -> Any:
    return new.decisions[0].draw.get(member) if new.decisions else None


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


def test_the_next_message_settles_it_whatever_the_schedule_says() -> None:
    first, second, third, fourth = by_turns(plan())
    (doubt,) = drawn(first, "owed")
    assert first.text is not None and first.text.startswith(SAYS[0])
    assert f"not sure any more whether it is {doubt}" in first.text and "ask me" in first.text
    assert second.text is not None and second.text.startswith(SAYS[1])
    assert second.text.endswith(f"this is final: {doubt}.")
    assert drawn(second, "settles") == drawn(second, "final") == [doubt]
    assert third.text is None and fourth.text is None


def test_one_by_one_or_all_at_once_is_the_same() -> None:
    assert perturb_messages(plan(), conversation(4), {}).new == by_turns(plan())


def test_a_message_that_is_spared_leaves_it_to_the_one_after() -> None:
    first, second, third, fourth = by_turns(plan(), spared=frozenset({1}))
    assert first.text is not None and second.text is None and fourth.text is None
    assert drawn(third, "settles") == drawn(first, "owed")


def test_another_branch_settles_for_itself() -> None:
    first = by_turns(plan(), 1)[0]
    known = {first.item.anchor: KnownText(first.text, first.decisions)}
    other = Conversation((*conversation(1).items, UserText(Ref(2), "No, wait.", "text:other", 1)))
    (new,) = perturb_messages(plan(), other, known).new
    assert drawn(new, "settles") == drawn(first, "owed")


def test_where_nobody_answers_it_is_settled_in_the_same_message() -> None:
    first, *later = by_turns(plan(user_can_answer=False))
    assert first.text is not None and "To settle it, and this is final" in first.text
    assert drawn(first, "owed") is None and all(new.text is None for new in later)


def test_bounds_keep_room_for_settling() -> None:
    tight, roomy = (plan(bounds=Bounds(events_per_session=most)) for most in (1, 2))
    first, *later = by_turns(tight)
    assert first.text is None and all(new.text is None for new in later)
    assert NO_ROOM in first.injections[0].note
    assert [new.text is not None for new in by_turns(roomy)] == [True, True, False, False]


@given(st.integers(0, 10_000), st.sets(st.integers(0, 3)), st.sampled_from([FIRST, When(), When(every=2)]))
def test_nothing_is_settled_that_wasnt_in_doubt_and_no_doubt_outlives_the_next_message(
    seed: int, spared: set[int], when: When
) -> None:
    owed: set[str] = set()
    for at, new in enumerate(by_turns(plan(when, seed=seed), spared=frozenset(spared))):
        settles = set(drawn(new, "settles") or ())
        assert settles == (owed if at not in spared else set())
        owed = (owed - settles) | set(drawn(new, "owed") or ())
