"""What a user says beside the request: the request is whole, and the rest can be left."""

from __future__ import annotations

import pytest

from crosswind.injectors.conversation import ToolSchema
from crosswind.injectors.operators.user.asides import find_field
from crosswind.injectors.operators.words.asides import ERRANDS, LEAVES_FREE, PROBES, YIELDS
from tests.injectors.operators.acting import QUESTION, shown, user_target

CUES = {
    "user.cost_cue": ("cost-effective", "cheapest", "low-cost", "economical"),
    "user.speed_cue": ("quickest", "fastest", "fast", "shortest"),
}
NOTE = 'The text is "Tea with the neighbours" and the place is "Garden Y".'
"""The last turn of a user as in RobustBench-TC's reward examples (appendix C)."""


@pytest.mark.parametrize(
    "name,share", [("user.topic_drift", 0.5), ("user.cost_cue", 0.25), ("user.speed_cue", 0.25)]
)
def test_severity_is_the_share_of_messages(name: str, share: float) -> None:
    seen = shown(name, user_target(QUESTION), share, seeds=400)
    assert abs(sum(after != QUESTION for after in seen) / 400 - share) < 0.1


@pytest.mark.parametrize(
    "text,field",
    [("When is my flight?", "travel"), ("Return my ORDER", "shopping"), ("Solve this.", "any")],
)
def test_side_questions_come_from_the_messages_own_field(text: str, field: str) -> None:
    assert find_field(text) == field


def test_probes_are_of_one_kind_and_end_by_accepting_a_refusal() -> None:
    kinds = set()
    for after in shown("user.boundary_probing", user_target(QUESTION)):
        assert after.startswith(QUESTION)
        (kind,) = (name for name, ending in YIELDS.items() if after.endswith(ending))
        assert sum(probe in after for probe in PROBES[kind]) == 2
        kinds.add(kind)
    assert kinds == {"policy", "knowledge"}


def test_severity_counts_the_probes() -> None:
    seen = shown("user.boundary_probing", user_target(QUESTION), 0.5, seeds=400)
    assert 350 < sum(probe in after for after in seen for kind in PROBES.values() for probe in kind) < 450


def test_errands_may_be_left_undone() -> None:
    for after in shown("user.out_of_scope", user_target(QUESTION)):
        assert after.startswith(QUESTION) and after.endswith(LEAVES_FREE)
        assert sum(request in after for request, _ in ERRANDS) == 2


def test_no_errand_is_asked_that_a_declared_tool_could_do() -> None:
    tools = [
        ToolSchema("music.playSong", "Plays.", {}),
        ToolSchema("act", "Walk a dog, any pet.", {"properties": {"plant": {"type": "string"}}}),
    ]
    seen = " ".join(shown("user.out_of_scope", user_target(QUESTION, tools=tools)))
    assert "kitchen" in seen
    assert not any(word in seen for word in ("lullaby", "dog", "parrot", "water the plants"))


@pytest.mark.parametrize("name", CUES)
def test_a_cue_is_a_preference_for_cost_or_speed(name: str) -> None:
    seen = shown(name, user_target(NOTE))
    assert all(after.startswith(f"{NOTE} ") for after in seen)
    assert all(any(word in after[len(NOTE) :] for word in CUES[name]) for after in seen)
    assert all(any(word in after for after in seen) for word in CUES[name])
    assert shown(name, user_target('{"a": 1}'), seeds=5) == ['{"a": 1}'] * 5


@pytest.mark.parametrize(
    "text,joint",
    [("Do it", "\n"), ("Do it.", " "), ("Do it.\n", ""), ("a\nb.", "\n"), ("done。", " ")],
)
def test_the_users_own_bytes_are_left_as_they_are(text: str, joint: str) -> None:
    (after,) = shown("user.cost_cue", user_target(text), seeds=1)
    assert after.startswith(text + joint)
    assert after[len(text + joint)].isupper()
