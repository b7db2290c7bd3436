"""Paired differences over tasks: between two runs, and between calm and noise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from statistics import fmean

import msgspec

from crosswind.figures.intervals import RESAMPLES, Interval, percentile_interval, resample_means

ByTask = Mapping[str, float]
"""A value of each task: the mean over its attempts."""


class PairedDifference(msgspec.Struct, frozen=True):
    """A paired difference after − before over the tasks that both have, with its 95 % interval."""

    n: int
    before: float
    after: float
    difference: float
    low: float
    high: float


def compare_paired(
    before: ByTask, after: ByTask, *, seed: int = 0, resamples: int = RESAMPLES
) -> PairedDifference | None:
    """The paired difference over common tasks, bootstrapped over them (percentiles); None without any."""
    common = sorted(before.keys() & after.keys())
    if not common:
        return None
    differences = [after[task] - before[task] for task in common]
    interval = _bootstrap_mean(tuple(sorted(map(_exact, differences))), seed, resamples)
    return PairedDifference(
        len(common),
        fmean(before[task] for task in common),
        fmean(after[task] for task in common),
        fmean(differences),
        interval.low,
        interval.high,
    )


@lru_cache(maxsize=256)
def _bootstrap_mean(values: tuple[float, ...], seed: int, resamples: int) -> Interval:
    """Kept, since the rows of a table often have the same tasks."""
    (means,) = resample_means([(value,) for value in values], seed=seed, resamples=resamples)
    return percentile_interval(means)


class NoiseCost(msgspec.Struct, frozen=True):
    """What noise costs: Δ of eq. 10 of NoisyAgent, over the tasks that were played clean and noisy."""

    as_assigned: float
    """Clean success less noisy success, whatever the noisy episodes met."""
    as_assigned_low: float
    as_assigned_high: float
    exposure_rate: float
    """The share of the noisy episodes that met their noise."""
    gap: float | None
    """The difference as assigned, divided by the exposure: what the noise costs an episode that meets it.
    None where none did."""
    low: float | None
    high: float | None


def measure_cost(clean: ByTask, noisy: ByTask, exposed: ByTask, *, seed: int = 0) -> NoiseCost | None:
    """What noise costs, by task: success without it and with it, and the share of exposed episodes. With 95 %
    intervals, bootstrapped over the tasks; None without common tasks.
    """
    tasks = sorted(clean.keys() & noisy.keys() & exposed.keys())
    if not tasks:
        return None
    lost = [clean[task] - noisy[task] for task in tasks]
    met = [exposed[task] for task in tasks]
    rows = [(_exact(one), _exact(two)) for one, two in zip(lost, met, strict=True)]
    whole, rate = resample_means(rows, seed=seed)
    interval, as_assigned, exposure = percentile_interval(whole), fmean(lost), fmean(met)
    if not any(met):
        return NoiseCost(as_assigned, interval.low, interval.high, exposure, None, None, None)
    gaps = percentile_interval([one / two for one, two in zip(whole, rate, strict=True) if two > 0])
    gap = as_assigned / exposure
    return NoiseCost(as_assigned, interval.low, interval.high, exposure, gap, gaps.low, gaps.high)


class Ratio(msgspec.Struct, frozen=True):
    """A ratio of two means over the same tasks, with its 95 % interval; None where the lower one is 0."""

    value: float | None
    low: float | None = None
    high: float | None = None


def compare_ratio(above: ByTask, below: ByTask, *, seed: int = 0) -> Ratio:
    """mean(above) / mean(below) over common tasks, bootstrapped over them."""
    common = sorted(above.keys() & below.keys())
    mean = fmean(below[task] for task in common) if common else 0.0
    if mean == 0.0:
        return Ratio(None)
    ups, downs = resample_means([(_exact(above[task]), _exact(below[task])) for task in common], seed=seed)
    ratios = [up / down for up, down in zip(ups, downs, strict=True) if down > 0]
    interval = percentile_interval(ratios)
    return Ratio(fmean(above[task] for task in common) / mean, interval.low, interval.high)


def mean_by_key(pairs: Iterable[tuple[str, float]]) -> dict[str, float]:
    """The mean of the values of each key, keys sorted."""
    gathered: dict[str, list[float]] = {}
    for key, value in pairs:
        gathered.setdefault(key, []).append(value)
    return {key: fmean(gathered[key]) for key in sorted(gathered)}


def _exact(value: float) -> float:
    """Without what floating point adds: 2/3 − 1/3 and 1/3 are one value to the bootstrap."""
    return round(value, 12)
