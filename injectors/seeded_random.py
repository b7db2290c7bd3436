"""Random generators seeded by names, equal on every platform and Python version.

Only `random.Random.random` is built upon: Python guarantees its sequence for a given seed, which it does not
for `choice`, `shuffle` or `sample`.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class SeededRandom:
    """A random generator. Two of the same key give the same sequence, in any process."""

    __slots__ = ("_drawn",)

    def __init__(self, key: str) -> None:
        raw = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=32).digest()
        self._drawn = random.Random(int.from_bytes(raw, "little")).random
        """Draws a float in [0, 1)."""

    def uniform(self, low: float = 0.0, high: float = 1.0) -> float:
        """A float in [low, high)."""
        return low + (high - low) * self._drawn()

    def chance(self, probability: float) -> bool:
        """True with the given probability; one draw is consumed whatever the probability is."""
        return self._drawn() < probability

    def successes(self, trials: int, probability: float) -> int:
        """How many of so many trials succeed, each with the given probability."""
        drawn = self._drawn
        return [drawn() < probability for _ in range(trials)].count(True)

    def integer(self, low: int, high: int) -> int:
        """An integer in [low, high], both included."""
        return low + int(self._drawn() * (high - low + 1))

    def choice(self, items: Sequence[T]) -> T:
        """One item of a non-empty sequence."""
        return items[int(self._drawn() * len(items))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """A shuffled copy (Fisher–Yates)."""
        out = list(items)
        drawn = self._drawn
        for last in range(len(out) - 1, 0, -1):
            other = int(drawn() * (last + 1))
            out[last], out[other] = out[other], out[last]
        return out

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        """`count` distinct positions of the sequence, in random order; all of them if it is shorter."""
        return self.shuffled(items)[:count]

    def weighted(self, items: Sequence[T], weights: Sequence[float]) -> T:
        """One item, with probability proportional to its weight (weights are not all 0)."""
        point = self._drawn() * sum(weights)
        for item, weight in zip(items, weights, strict=True):
            point -= weight
            if point < 0:
                return item
        return items[-1]

    def exponential(self, mean: float) -> float:
        """An exponential draw with the given mean."""
        return -mean * math.log1p(-self._drawn())
