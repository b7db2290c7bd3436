"""Intervals: Wilson's of a share, and the paired bootstrap's of means and of ratios of means.

The bootstrap resamples tasks. Resampling n tasks whose rows have m distinct values is one draw of m counts
(multinomial), so its cost depends on m and not on n. Successes have few distinct values: 10,000 resamples
take milliseconds without numpy, and give the same figures wherever they are computed.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from operator import mul
from random import Random

import msgspec

Z_95 = 1.959963984540054
RESAMPLES = 10_000
_MANY = 400
_DIFFERENT = 200
"""With more rows than `_MANY`, of which at least `_DIFFERENT` aren't the most common one, the means of
resamples are drawn from the normal distribution that they then have."""


class Interval(msgspec.Struct, frozen=True):
    """A 95 % interval."""

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


def percentile_interval(values: Sequence[float]) -> Interval:
    """From the 2.5th to the 97.5th percentile, interpolated linearly."""
    ordered = sorted(values)
    return Interval(_quantile(ordered, 0.025), _quantile(ordered, 0.975))


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def resample_means(
    rows: Sequence[tuple[float, ...]], *, seed: int = 0, resamples: int = RESAMPLES
) -> list[list[float]]:
    """The means of each column, one or two of them, over resamples of the rows, drawn with replacement.

    The same rows in another order give the same means.
    """
    n = len(rows)
    counted = Counter(rows)
    values = sorted(counted, key=lambda value: (-counted[value], value))
    draw = Random(seed)
    if n > _MANY and n - counted[values[0]] >= _DIFFERENT:
        return _draw_normal(values, counted, n, seed, resamples)
    if len(values) > n // 4:
        return _draw_rows(sorted(rows), draw, resamples)
    sums = [[0.0] * resamples for _ in rows[0]]
    left = [n] * resamples
    weight = n
    for value in values:
        count = counted[value]
        drawn = left if count >= weight else _draw_binomials(left, count / weight, draw)
        for column, one in zip(sums, value, strict=True):
            if one:
                column[:] = [total + one * times for total, times in zip(column, drawn, strict=True)]
        left = [before - times for before, times in zip(left, drawn, strict=True)]
        weight -= count
    return [[total / n for total in column] for column in sums]


def _draw_normal(
    values: Sequence[tuple[float, ...]],
    counted: Mapping[tuple[float, ...], int],
    n: int,
    seed: int,
    resamples: int,
) -> list[list[float]]:
    """Means with the expectation, spread and covariance of resamples' means."""
    columns = list(zip(*values, strict=True))
    counts = [counted[value] for value in values]
    means = [math.fsum(map(mul, counts, column)) / n for column in columns]
    offs = [[one - mean for one in column] for column, mean in zip(columns, means, strict=True)]

    def covary(one: Sequence[float], other: Sequence[float]) -> float:
        return math.fsum(times * a * b for times, a, b in zip(counts, one, other, strict=True)) / n**2

    first, second = _draw_standard(seed, resamples)
    spread = math.sqrt(covary(offs[0], offs[0]))
    found = [[means[0] + spread * one for one in first]]
    if len(columns) > 1:
        slope = covary(offs[0], offs[1]) / spread if spread else 0.0
        rest = math.sqrt(max(0.0, covary(offs[1], offs[1]) - slope**2))
        both = zip(first, second, strict=True)
        found.append([means[1] + slope * one + rest * other for one, other in both])
    return found


@lru_cache(maxsize=8)
def _draw_standard(seed: int, resamples: int) -> tuple[list[float], list[float]]:
    """Two columns of standard normal numbers: the same for all figures."""
    gauss = Random(seed).gauss
    first = [gauss(0.0, 1.0) for _ in range(resamples)]
    return first, [gauss(0.0, 1.0) for _ in range(resamples)]


def _draw_rows(rows: Sequence[tuple[float, ...]], draw: Random, resamples: int) -> list[list[float]]:
    """Resample row by row: for few rows, most of which differ."""
    n, columns = len(rows), list(zip(*rows, strict=True))
    means: list[list[float]] = [[] for _ in columns]
    for _ in range(resamples):
        chosen = draw.choices(range(n), k=n)
        for mean, column in zip(means, columns, strict=True):
            mean.append(sum([column[place] for place in chosen]) / n)
    return means


def _draw_binomials(sizes: Sequence[int], share: float, draw: Random) -> list[int]:
    tables: dict[int, tuple[int, list[float]]] = {}
    drawn = []
    random = draw.random
    for size in sizes:
        table = tables.get(size)
        if table is None:
            table = tables[size] = _binomial(size, share)
        drawn.append(table[0] + bisect(table[1], random()))
    return drawn


@lru_cache(maxsize=4096)
def _binomial(size: int, share: float) -> tuple[int, list[float]]:
    """The least number with any weight to speak of, and the cumulated probabilities from there, less the
    last: the place of a uniform number among them is a draw."""
    if size == 0:
        return 0, []
    mode = min(size, int((size + 1) * share))
    odds = share / (1 - share)
    below, above = [1.0], []
    for k in range(mode, 0, -1):
        below.append(below[-1] * k / ((size - k + 1) * odds))
        if below[-1] < 1e-15:
            break
    weight = 1.0
    for k in range(mode, size):
        weight *= (size - k) * odds / (k + 1)
        if weight < 1e-15:
            break
        above.append(weight)
    weights = below[::-1] + above
    total = math.fsum(weights)
    cumulated, so_far = [], 0.0
    for one in weights[:-1]:
        so_far += one
        cumulated.append(so_far / total)
    return mode - len(below) + 1, cumulated
