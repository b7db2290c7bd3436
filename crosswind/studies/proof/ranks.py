"""Spearman's rank correlation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean


def spearman(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Rank correlation in [-1, 1], ties sharing their mean rank; nan where one of the two never changes."""
    first, second = _ranks(xs), _ranks(ys)
    mean = fmean(first)
    product = sum((a - mean) * (b - mean) for a, b in zip(first, second, strict=True))
    spread = math.sqrt(sum((a - mean) ** 2 for a in first) * sum((b - mean) ** 2 for b in second))
    return product / spread if spread else math.nan


def _ranks(values: Sequence[float]) -> list[float]:
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) + 1) / 2 for value in values]
