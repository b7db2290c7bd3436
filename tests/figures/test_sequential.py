"""The sequential test errs no more often than it says, and is as often inconclusive as it says."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from crosswind.figures.sequential import Claim, SequentialTest, Verdict, compute_odds, run_test

RUNS = 2000
SUCCESS_90 = Claim(0.9, 0.0, 1.0, 0.05)
DROP_10 = Claim(-0.1, -1.0, 1.0, 0.05)


def simulate(claim: Claim, chances: dict[float, float], units: int) -> Counter[Verdict]:
    draw = random.Random(0)
    values, weights = list(chances), list(chances.values())
    return Counter(run_test(claim, draw.choices(values, weights, k=units)).verdict for _ in range(RUNS))


@pytest.mark.parametrize(
    ("claim", "chances", "units"),
    [
        (SUCCESS_90, {1.0: 0.9, 0.0: 0.1}, 150),
        (DROP_10, {-1.0: 0.1, 0.0: 0.9}, 60),
        (DROP_10, {-1.0: 0.25, 0.0: 0.6, 1.0: 0.15}, 60),
    ],
)
def test_at_the_threshold_it_passes_and_fails_in_at_most_5_percent(
    claim: Claim, chances: dict[float, float], units: int
) -> None:
    """The mean is the threshold: the worst case of both errors. Each run is looked at after every unit."""
    found = simulate(claim, chances, units)
    assert found[Verdict.PASSED] <= 0.05 * RUNS
    assert found[Verdict.FAILED] <= 0.05 * RUNS


@pytest.mark.parametrize(
    ("claim", "chances", "units"),
    [
        (SUCCESS_90, {1.0: 1.0, 0.0: 0.0}, 60),
        (SUCCESS_90, {1.0: 0.97, 0.0: 0.03}, 80),
        (SUCCESS_90, {1.0: 0.7, 0.0: 0.3}, 40),
        (DROP_10, {-1.0: 0.05, 0.0: 0.9, 1.0: 0.05}, 60),
        (DROP_10, {-1.0: 0.4, 0.0: 0.55, 1.0: 0.05}, 40),
    ],
)
def test_each_verdict_is_as_frequent_as_stated(claim: Claim, chances: dict[float, float], units: int) -> None:
    stated, found = compute_odds(claim, chances, units), simulate(claim, chances, units)
    for verdict, chance in (
        (Verdict.PASSED, stated.passed),
        (Verdict.FAILED, stated.failed),
        (Verdict.INCONCLUSIVE, stated.inconclusive),
    ):
        # Four standard errors of a share of 2,000 runs.
        assert found[verdict] / RUNS == pytest.approx(
            chance, abs=4 * (chance * (1 - chance) / RUNS) ** 0.5 + 1e-9
        )


def test_a_perfect_agent_passes_and_a_dead_one_fails_after_the_units_that_can_be_counted() -> None:
    """The greatest stake wins a factor of 1/0.9 a unit and begins with 0.4 of the capital, others help:
    between ln(20)/ln(1/0.9) = 28.4 and ln(50)/ln(1/0.9) = 37.1 units."""
    perfect = run_test(SUCCESS_90, [1.0] * 100)
    assert perfect.verdict is Verdict.PASSED and 29 <= perfect.units <= 38
    dead = run_test(SUCCESS_90, [0.0] * 100)
    assert dead.verdict is Verdict.FAILED and dead.units <= 3


def test_it_stops_by_itself_and_says_how_far_it_is() -> None:
    test = SequentialTest(SUCCESS_90)
    for _ in range(10):
        assert test.add(1.0) is Verdict.INCONCLUSIVE
    left = test.units_left()
    assert left is not None
    for _ in range(left):
        test.add(1.0)
    assert (test.verdict, test.units_left()) == (Verdict.PASSED, 0)
    seen = test.units
    assert test.add(0.0) is Verdict.PASSED
    assert test.units == seen


@pytest.mark.parametrize("chances", [{-1.0: 0.3, 0.0: 0.7}, {-1.0: 0.05, -0.5: 0.1, 0.0: 0.8, 1.0: 0.05}])
def test_each_end_of_the_interval_is_wrong_in_at_most_5_percent(chances: dict[float, float]) -> None:
    mean = sum(value * chance for value, chance in chances.items())
    claim, draw = Claim(mean, -1.0, 1.0, 0.05), random.Random(0)
    missed = Counter[str]()
    for _ in range(400):
        low, high = run_test(claim, draw.choices(list(chances), list(chances.values()), k=20)).interval()
        missed["low"] += low > mean
        missed["high"] += high < mean
    assert max(missed.values()) <= 0.05 * 400


@pytest.mark.parametrize("value", [-0.1, 1.1])
def test_a_value_outside_its_bounds_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        SequentialTest(SUCCESS_90).add(value)
