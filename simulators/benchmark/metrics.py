"""Figures of a benchmark: success with its interval per arm, and paired differences between two runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

Z_95 = 1.959963984540054
RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """A paired difference after − before over the tasks that both runs have, with its 95 % interval."""

    n: int
    before: float
    after: float
    difference: float
    low: float
    high: float


def wilson(share: float, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share of n tasks; (0, 1) where n is 0.

    With several samples a task, `share` is the mean over tasks of their means, and n still counts tasks: an
    interval that is too wide rather than too narrow.
    """
    if n == 0:
        return 0.0, 1.0
    centre = (share + Z_95**2 / (2 * n)) / (1 + Z_95**2 / n)
    half = Z_95 / (1 + Z_95**2 / n) * math.sqrt(share * (1 - share) / n + Z_95**2 / (4 * n**2))
    return max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half))


def compare_paired(
    before: Mapping[str, float], after: Mapping[str, float], *, seed: int = 0, resamples: int = RESAMPLES
) -> PairedDifference | None:
    """The paired difference over common tasks, bootstrapped over them (percentiles); None without any."""
    import numpy as np

    common = sorted(before.keys() & after.keys())
    if not common:
        return None
    differences = np.array([after[task] - before[task] for task in common])
    drawn = np.random.default_rng(seed).integers(0, len(common), size=(resamples, len(common)))
    low, high = np.percentile(differences[drawn].mean(axis=1), [2.5, 97.5])
    return PairedDifference(
        len(common),
        fmean(before[task] for task in common),
        fmean(after[task] for task in common),
        float(differences.mean()),
        float(low),
        float(high),
    )


@dataclass(frozen=True, slots=True)
class NoiseCost:
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


def measure_cost(
    clean: Mapping[str, float], noisy: Mapping[str, float], exposed: Mapping[str, float], *, seed: int = 0
) -> NoiseCost | None:
    """What noise costs, by task: success without it and with it, and the share of exposed episodes. With 95 %
    intervals, bootstrapped over the tasks; None without common tasks.
    """
    import numpy as np

    tasks = sorted(clean.keys() & noisy.keys() & exposed.keys())
    if not tasks:
        return None
    lost = np.array([clean[task] - noisy[task] for task in tasks])
    met = np.array([exposed[task] for task in tasks])
    drawn = np.random.default_rng(seed).integers(0, len(tasks), size=(RESAMPLES, len(tasks)))
    whole, rate = lost[drawn].mean(axis=1), met[drawn].mean(axis=1)
    low, high = map(float, np.percentile(whole, [2.5, 97.5]))
    cost = NoiseCost(float(lost.mean()), low, high, float(met.mean()), None, None, None)
    if not met.any():
        return cost
    low, high = map(float, np.percentile(whole[rate > 0] / rate[rate > 0], [2.5, 97.5]))
    return replace(cost, gap=cost.as_assigned / cost.exposure_rate, low=low, high=high)


def mean_by_key(pairs: Sequence[tuple[str, float]]) -> dict[str, float]:
    """The mean of the values of each key, keys sorted."""
    gathered: dict[str, list[float]] = {}
    for key, value in pairs:
        gathered.setdefault(key, []).append(value)
    return {key: fmean(gathered[key]) for key in sorted(gathered)}
