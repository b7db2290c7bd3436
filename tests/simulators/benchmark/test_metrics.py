"""Intervals hold what they say they hold; paired differences are antisymmetric and see only common tasks."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosswind.simulators.benchmark.metrics import compare_paired, mean_by_key, wilson

SHARES = st.floats(0, 1)
BY_TASK = st.dictionaries(st.sampled_from("abcdefgh"), SHARES, min_size=1)


@given(share=SHARES, n=st.integers(1, 10_000))
def test_wilson_holds_the_share_and_shrinks_with_n(share: float, n: int) -> None:
    low, high = wilson(share, n)
    assert 0 <= low <= share <= high <= 1
    wider = wilson(share, max(1, n // 4))
    assert wider[1] - wider[0] >= high - low - 1e-12


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"), [(0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (81, 263, 0.2553, 0.3662)]
)
def test_wilson_gives_the_printed_values(hits: int, n: int, low: float, high: float) -> None:
    """Newcombe 1998, table I, method 3 (81 of 263), and the well-known values for 10."""
    assert wilson(hits / n, n) == pytest.approx((low, high), abs=5e-5)


def test_wilson_of_nothing_says_nothing() -> None:
    assert wilson(0.0, 0) == (0.0, 1.0)


@given(before=BY_TASK, after=BY_TASK)
def test_a_paired_difference_is_of_the_common_tasks(
    before: dict[str, float], after: dict[str, float]
) -> None:
    found = compare_paired(before, after, resamples=200)
    common = before.keys() & after.keys()
    if not common:
        assert found is None
        return
    assert found is not None
    assert found.n == len(common)
    assert found.difference == pytest.approx(found.after - found.before, abs=1e-9)
    differences = [after[task] - before[task] for task in common]
    assert min(differences) - 1e-9 <= found.low <= found.high <= max(differences) + 1e-9
    back = compare_paired(after, before, resamples=200)
    assert back is not None and back.difference == pytest.approx(-found.difference)


@given(by_task=BY_TASK)
def test_a_run_does_not_differ_from_itself(by_task: dict[str, float]) -> None:
    found = compare_paired(by_task, by_task, resamples=50)
    assert found is not None and (found.difference, found.low, found.high) == (0.0, 0.0, 0.0)


def test_the_bootstrap_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    draw = random.Random(0)
    covered = 0
    for trial in range(200):
        before = {str(task): float(draw.random() < 0.3) for task in range(100)}
        after = {str(task): float(draw.random() < 0.5) for task in range(100)}
        found = compare_paired(before, after, seed=trial, resamples=400)
        assert found is not None
        covered += found.low <= 0.2 <= found.high
    assert 176 <= covered <= 200


@given(pairs=st.lists(st.tuples(st.sampled_from("abc"), SHARES)))
def test_means_by_key(pairs: list[tuple[str, float]]) -> None:
    means = mean_by_key(pairs)
    assert means.keys() == {key for key, _ in pairs}
    for key, mean in means.items():
        values = [value for other, value in pairs if other == key]
        assert mean == pytest.approx(sum(values) / len(values))
