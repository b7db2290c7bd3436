"""When a rule acts."""

from __future__ import annotations

from typing import Any

import pytest

from injectors.schedule import STAGES, WHOLE, Occasion, Stage, When, due


def acting(when: When, occasions: int = 12, stage: Stage | None = None, turns: int = 12) -> list[int]:
    """The occasions on which the rule acts whenever it may; one occasion a turn."""
    window = STAGES[stage] if stage else WHOLE
    acted: list[int] = []
    for index in range(occasions):
        occasion = Occasion(index, index, len(acted), acted[-1] if acted else None)
        if due(when, window, occasion, turns):
            acted.append(index)
    return acted


@pytest.mark.parametrize(
    "when,expected",
    [
        ({}, list(range(12))),
        ({"first_call": True}, [0]),
        ({"nth": 3}, [2]),
        ({"every": 4}, [3, 7, 11]),
        ({"at_most": 2}, [0, 1]),
        ({"start": 9}, [9, 10, 11]),
        ({"min_interval": 5}, [0, 5, 10]),
        ({"every": 2, "start": 4, "at_most": 2, "min_interval": 3}, [5, 9]),
    ],
)
def test_schedules(when: dict[str, Any], expected: list[int]) -> None:
    assert acting(When(**when)) == expected


def test_stages_are_thirds_of_the_expected_turns_and_the_last_has_no_end() -> None:
    assert acting(When(), 15, Stage.EARLY) == [0, 1, 2, 3]
    assert acting(When(), 15, Stage.MIDDLE) == [4, 5, 6, 7]
    assert acting(When(), 15, Stage.LATE) == [8, 9, 10, 11, 12, 13, 14]
