"""user.cost_cue and user.speed_cue: the preference that makes a name tempting."""

from __future__ import annotations

import pytest

from tests.injectors.operators.user.acting import NOTE, shown, user_target

CUES = {
    "user.cost_cue": ("cost-effective", "cheapest", "low-cost", "economical"),
    "user.speed_cue": ("quickest", "fastest", "fast", "shortest"),
}


@pytest.mark.parametrize("name", CUES)
def test_the_worked_examples_in_kind(name: str) -> None:
    target = user_target(NOTE)
    seen = shown(name, target, 1.0)
    for after in seen:
        assert after.startswith(f"{NOTE} ")
        assert any(word in after[len(NOTE) :] for word in CUES[name])
    assert all(any(word in after for after in seen) for word in CUES[name])


@pytest.mark.parametrize("name", CUES)
def test_severity_is_the_share_of_messages(name: str) -> None:
    seen = shown(name, user_target(NOTE), 0.25, seeds=400)
    assert 70 < sum(after != NOTE for after in seen) < 130


@pytest.mark.parametrize("name", CUES)
def test_a_message_that_is_data_is_left_alone(name: str) -> None:
    assert shown(name, user_target('{"a": 1}'), 1.0, seeds=5) == ['{"a": 1}'] * 5


@pytest.mark.parametrize(
    "text,joint",
    [("Do it", "\n"), ("Do it.", " "), ("Do it.\n", ""), ("a\nb.", "\n"), ("done。", " ")],
)
def test_the_users_own_bytes_are_left_as_they_are(text: str, joint: str) -> None:
    (after,) = shown("user.cost_cue", user_target(text), 1.0, seeds=1)
    assert after.startswith(text + joint)
    assert after[len(text + joint)].isupper()
