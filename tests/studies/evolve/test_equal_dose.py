"""Profiles are compared as if the one with the greater dose had met fewer sessions."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosswind.studies.evolve.equal_dose import compare
from crosswind.studies.evolve.fitness import NO_DOSE, MeasuredDose, PlayedSession

TASKS = 60


def played(failing: int, exposed: int, injections: float = 1.0) -> list[PlayedSession]:
    """The first sessions are exposed, the first of these fail."""
    dose = MeasuredDose(1.0, injections, 0.7 * injections, 50.0 * injections)
    return [
        PlayedSession(f"t{at}", float(at >= failing), dose if at < exposed else NO_DOSE)
        for at in range(TASKS)
    ]


CALM = played(0, 0)


@settings(max_examples=40, deadline=None)
@given(exposed=st.integers(4, TASKS), rate=st.floats(0, 1))
def test_noise_that_costs_as_much_an_exposure_is_no_worse(exposed: int, rate: float) -> None:
    """However many sessions it meets."""
    failing, less = round(rate * exposed), exposed // 2
    found = compare(CALM, played(round(rate * exposed / 2), less), played(failing, exposed))
    assert found.ratio == pytest.approx(exposed / less)
    assert abs(found.at_equal_dose.difference) < 0.03
    assert found.as_played.difference <= 0.01


def test_noise_that_costs_more_at_the_same_exposures_is_found() -> None:
    found = compare(CALM, played(10, 40), played(32, 40))
    assert found.tasks == TASKS and found.ratio == pytest.approx(1.0) and found.hurts_more
    assert found.as_played == found.at_equal_dose
    assert found.as_played.difference == pytest.approx(-22 / 60)


def test_more_injections_in_an_exposed_session_count_too() -> None:
    found = compare(CALM, played(10, 40), played(20, 40, injections=2.0))
    assert found.ratio == pytest.approx(2.0) and found.at_equal_dose.difference == pytest.approx(0.0)
    assert not found.hurts_more and found.as_played.difference < 0


def test_other_tasks_can_not_be_compared() -> None:
    other = [PlayedSession("other", 1.0, NO_DOSE)]
    with pytest.raises(ValueError, match="play the same tasks"):
        compare(CALM, other, played(1, 1))
