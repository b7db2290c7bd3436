"""Differences between sets of tasks that have none in common, as in live traffic."""

from __future__ import annotations

from statistics import fmean

import msgspec

from crosswind.figures.intervals import percentile_interval, resample_means
from crosswind.figures.paired import ByTask


class UnpairedDifference(msgspec.Struct, frozen=True):
    """A difference after − before of two sets of tasks that have none in common, with its 95 % interval."""

    before: float
    after: float
    difference: float
    low: float
    high: float


def compare_unpaired(before: ByTask, after: ByTask, *, seed: int = 0) -> UnpairedDifference | None:
    """The difference of the means of two sets of tasks, each bootstrapped by itself; None without both."""
    if not before or not after:
        return None
    (olds,), (news,) = (
        resample_means([(round(value, 12),) for value in side.values()], seed=seed + number)
        for number, side in enumerate((before, after))
    )
    interval = percentile_interval([new - old for new, old in zip(news, olds, strict=True)])
    old, new = fmean(before.values()), fmean(after.values())
    return UnpairedDifference(old, new, new - old, interval.low, interval.high)
