"""Intervals hold what they say they hold; paired differences are antisymmetric and see only common tasks."""

from __future__ import annotations

import random
from statistics import fmean, pstdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosswind.figures.intervals import resample_means, wilson
from crosswind.figures.paired import compare_paired, compare_ratio, mean_by_key

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


def test_the_bootstrap_agrees_with_scipys() -> None:
    """scipy.stats.bootstrap of scipy 1.17.1, percentile method, 200,000 resamples."""
    differences = [0, -1, 0, 0, -0.5, 1, 0, -1, -0.5, 0, 0, 0, -1, 0.5, 0, -0.5, 0, 0, -1, 0]
    found = compare_paired(
        {str(task): 0.0 for task in range(20)},
        {str(task): float(one) for task, one in enumerate(differences)},
    )
    assert found is not None and found.difference == pytest.approx(-0.2)
    assert (found.low, found.high) == pytest.approx((-0.425, 0.025), abs=0.026)

    clean, noisy = [1, 1, 1, 0.5, 1, 0, 1, 1, 0.5, 1], [1, 0, 1, 0.5, 0.5, 0, 1, 0, 0, 1]
    ratio = compare_ratio(
        {str(task): float(one) for task, one in enumerate(noisy)},
        {str(task): float(one) for task, one in enumerate(clean)},
    )
    assert ratio.value == pytest.approx(0.625)
    assert (ratio.low, ratio.high) == pytest.approx((0.3125, 0.9091), abs=0.01)


@pytest.mark.parametrize("kind", ["two values", "nine values", "all different", "many, all different"])
def test_the_bootstrap_draws_rows_as_often_as_numpy_does(kind: str) -> None:
    """However rows are drawn (by counts, one by one, on a grid), the means spread as means of samples do."""
    draw = random.Random(kind)
    n = 900 if kind.startswith("many") else 60
    values = {
        "two values": [float(draw.random() < 0.3) for _ in range(n)],
        "nine values": [draw.randrange(9) / 8 for _ in range(n)],
    }.get(kind) or [draw.random() for _ in range(n)]
    means = resample_means([(value,) for value in values], seed=1)[0]
    assert fmean(means) == pytest.approx(fmean(values), abs=4 * pstdev(values) / n**0.5 / 100)
    assert pstdev(means) == pytest.approx(pstdev(values) / n**0.5, rel=0.05)


def test_rows_are_drawn_whole() -> None:
    rows = [(float(one % 3), 10.0 * (one % 3)) for one in range(50)]
    first, second = resample_means(rows, resamples=500)
    assert second == pytest.approx([10 * one for one in first])


def test_the_order_of_rows_changes_nothing() -> None:
    rows = [(one / 7,) for one in range(40)]
    assert resample_means(rows, resamples=100) == resample_means(rows[::-1], resamples=100)
