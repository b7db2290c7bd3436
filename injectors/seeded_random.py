"""Random generators seeded by names, equal on every platform and Python version.

Nothing is drawn from `random`: to seed its generator costs more than most operators draw. BLAKE2b of the key
gives the first eight numbers, and BLAKE2b of each block the next eight.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from hashlib import blake2b
from inspect import GEN_CREATED, getgeneratorstate
from struct import Struct
from typing import TypeVar

T = TypeVar("T")

GENERATOR = 2
"""The generator's version: it rises when a key comes to give other draws. Before 2 they were a Mersenne
Twister's."""

_numbers = Struct("<8Q").unpack
_UNIT = 2.0**-53


def draw_once(key: str) -> float:
    """The first float of the generator with that key, for who needs no second."""
    first: int = _numbers(_hash(key))[0]
    return (first >> 11) * _UNIT


def _hash(key: str) -> bytes:
    return blake2b(key.encode("utf-8", "surrogatepass")).digest()


def _draw(key: str) -> Generator[float, None, None]:
    """The floats of a key, in [0, 1). Nothing is computed before the first is asked for."""
    block = _hash(key)
    while True:
        for number in _numbers(block):
            yield (number >> 11) * _UNIT
        block = blake2b(block).digest()


class SeededRandom:
    """A random generator. Two of the same key give the same sequence, in any process."""

    __slots__ = ("_drawn", "_key", "_stream")

    def __init__(self, key: str) -> None:
        self._key = key
        self._stream = _draw(key)
        self._drawn = self._stream.__next__
        """Draws a float in [0, 1)."""

    def __reduce__(self) -> tuple[type[SeededRandom], tuple[str]]:
        """Another process gets one that begins at the beginning."""
        if getgeneratorstate(self._stream) != GEN_CREATED:
            raise TypeError(f"the generator {self._key!r} was drawn from: pickle it before its first draw")
        return SeededRandom, (self._key,)

    def named(self, name: str) -> SeededRandom:
        """A generator of its own for what has that name: it depends on neither the order of the names nor on
        what was drawn."""
        return SeededRandom(f"{self._key}|{name}")

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
