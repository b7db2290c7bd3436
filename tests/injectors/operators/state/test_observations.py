"""State noise in users' messages: in what a profile marks as an observation, and nowhere else."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosswind.injectors.engine.decision import KnownText
from crosswind.injectors.engine.messages import perturb_messages, replay
from crosswind.injectors.engine.plan import Plan
from crosswind.injectors.operators.words.scenes import HOUSEHOLD_OBJECTS
from crosswind.injectors.profiles.load import ProfileError, parse
from crosswind.injectors.profiles.marks import find_observations
from crosswind.injectors.text.json_payload import holds_all
from tests.injectors.dialogues import conversation
from tests.injectors.operators import acting
from tests.injectors.operators.worked.sample import in_order
from tests.injectors.plans import plan_of

MARK = r"(?s)(?:Prior|Current) observation: (.*?)(?=\n[A-Z]|\Z)"
KITCHEN = "You are in the kitchen. You see a cabinet 3."
DRAWER = "You open the drawer 2. You see a dial 1. It is dark."
GOAL = "Your task is: put a mug, a bowl or a cup into the sink 1, W17."


def prompt(prior: str, current: str, actions: str = "go to sink 1, open drawer 2") -> str:
    said = f"{GOAL}\nPrior observation: {prior}\nCurrent observation: {current}"
    return f"{said}\nAdmissible actions are: {actions}\nAnswer with one of them."


def plan(mark: str = MARK, *, seed: int = 0, severity: float = 0.75) -> Plan:
    rule = {"operator": "state.irrelevant", "severity": severity, "where": {"observation": mark}}
    return plan_of(f"name: t\nrules: [{json.dumps(rule)}]\n", seed)


def said(*texts: str) -> list[dict[str, Any]]:
    """A chat in which the user says these texts, and the agent answers each."""
    pairs = [({"role": "user", "content": text}, {"role": "assistant", "content": "look"}) for text in texts]
    return [message for pair in pairs for message in pair]


def shown(of: Plan, *texts: str) -> list[str]:
    return acting.seen(of, said(*texts))


@pytest.mark.parametrize("seed", range(8))
def test_the_observations_get_their_volume_and_nothing_else_is_touched(seed: int) -> None:
    text = prompt(KITCHEN, DRAWER)
    [after] = shown(plan(seed=seed), text)
    lines, before = after.split("\n"), text.split("\n")
    assert (lines[0], lines[-2:]) == (before[0], before[-2:])
    for one, clean in zip(find_observations(after, MARK), (KITCHEN, DRAWER), strict=True):
        things = re.findall(rf"\b({'|'.join(HOUSEHOLD_OBJECTS)}) (\d+)[ ,]", one.text)
        assert len(things) == 25  # 300 characters, as the paper counts them.
        assert {name for name, _ in things}.isdisjoint({"mug", "bowl", "cup"}), "the goal's"
        assert in_order(clean, one.text)


def test_an_observation_quoted_again_as_history_has_the_same_noise() -> None:
    texts = prompt(KITCHEN, DRAWER), prompt(DRAWER, "You see nothing.", "take nothing")
    for views in (shown(plan(), *texts), [shown(plan(), text)[0] for text in texts]):
        first, second = ([one.text for one in find_observations(view, MARK)] for view in views)
        assert first[1] == second[0] != DRAWER
        assert second[1] != "You see nothing."


def test_what_can_be_done_is_never_named() -> None:
    actions = ", ".join(f"take {name} {number}" for name in HOUSEHOLD_OBJECTS for number in range(1, 40))
    text = prompt(KITCHEN, "You see nothing.", actions)
    [after] = shown(plan(severity=0.3), text)
    added = after.partition("Admissible")[0].replace(KITCHEN, "")
    things = re.findall(rf"\b(?:{'|'.join(HOUSEHOLD_OBJECTS)}) \d+", added)
    assert not [one for one in things if one in actions.split("take ")]
    assert all(int(one.split()[1]) >= 40 for one in things)


def test_a_pointer_marks_a_part_of_a_document() -> None:
    document = {
        "goal": "mug W17",
        "seen": {"rooms/all": [KITCHEN, "x"]},
        "do": ["go"],
        "n": 12345678901234567890,
    }
    text = json.dumps(document, indent=2)
    [after] = shown(plan("/seen/rooms~1all/0"), text)
    value = json.loads(after)
    assert value["seen"]["rooms/all"][0] != KITCHEN and "\n" in after
    value["seen"]["rooms/all"][0] = KITCHEN
    assert value == document
    [state] = shown(plan("/seen", severity=1.0), text)
    assert holds_all(json.loads(state)["seen"], document["seen"]) and state != text
    for nowhere in ("/sean", "/seen/rooms~1all/7", "/n", "/goal/x"):
        assert shown(plan(nowhere), text) == [text]


def test_it_is_found_again_and_replayed() -> None:
    seen = conversation(said(prompt(KITCHEN, DRAWER), "What now?"))
    found = perturb_messages(plan(), seen, {})
    [injection] = found.new[0].injections
    assert injection.decision.site == "user_text" and injection.decision.anchor == seen.items[0].anchor
    stored = json.loads(json.dumps(injection.decision.draw))
    assert stored == injection.decision.draw
    assert replay([injection.decision], seen.items[0], seen) == injection.after
    known = {one.item.anchor: KnownText(one.text, one.decisions) for one in found.new}
    assert perturb_messages(plan(), seen, known).replacements == found.replacements
    assert found.new[1].injections == ()


@pytest.mark.parametrize(
    "rule,words",
    [
        (
            {"operator": "tool.timeout", "where": {"observation": "x"}},
            ["where.observation", "'x'", "remove it"],
        ),
        ({"operator": "user.typos", "where": {"observation": "/a"}}, ["where.observation", "remove it"]),
        (
            {"operator": "state.irrelevant", "where": {"observation": "("}},
            ["no regular expression", "fix it"],
        ),
        ({"operator": "state.irrelevant", "where": {"observations": "x"}}, ["'observation'"]),
    ],
)
def test_a_mark_that_can_not_be_used_is_refused(rule: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(ProfileError) as caught:
        parse(f"name: t\nrules:\n  - {json.dumps(rule | {'severity': 0.5})}\n", "t")
    assert str(caught.value).startswith("t:3: ")
    assert [word for word in words if word not in str(caught.value)] == []


TEXTS = st.text(st.sampled_from('ab 1é你🙏🏽\u0301.\n"{}[]:,<>'), max_size=30)


@settings(max_examples=60, deadline=None)
@given(
    TEXTS,
    st.lists(TEXTS, max_size=3),
    st.integers(0, 99),
    st.sampled_from([r"<([^<>]*)>", "/a", "/", "", "(?s).*"]),
)
def test_any_message_is_accepted_and_keeps_its_words(
    text: str, inner: list[str], seed: int, mark: str
) -> None:
    message = text + "".join(f"<{one}>{text}" for one in inner)
    for one in (message, json.dumps({"a": message, "": inner})):
        [after] = shown(plan(mark, seed=seed), one)
        assert mark.startswith("/") or in_order(one, after)
