"""Random generators seeded by names, equal on every platform and Python version.

Nothing is drawn from `random`: to seed its generator costs more than most operators draw. BLAKE2b of the key
gives the first eight numbers, and BLAKE2b of each block the next eight.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence
from hashlib import blake2b
from inspect import GEN_CREATED, getgeneratorstate
from itertools import chain, islice
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


def _hash_on(key: str) -> Generator[bytes, None, None]:
    """The blocks of a key. Nothing is computed before the first is asked for."""
    block = _hash(key)
    while True:
        yield block
        block = blake2b(block).digest()


class SeededRandom:
    """A random generator. Two of the same key give the same sequence, in any process."""

    __slots__ = ("_blocks", "_key", "_next", "_numbers")

    def __init__(self, key: str) -> None:
        self._key = key
        self._blocks = _hash_on(key)
        # A generator of single numbers would take longer than what is drawn with most of them.
        self._numbers: Iterator[int] = chain.from_iterable(map(_numbers, self._blocks))
        self._next = self._numbers.__next__
        """Draws an integer of 64 bits, of which the upper 53 count."""

    def __reduce__(self) -> tuple[type[SeededRandom], tuple[str]]:
        """Another process gets one that begins at the beginning."""
        if getgeneratorstate(self._blocks) != GEN_CREATED:
            raise TypeError(f"the generator {self._key!r} was drawn from: pickle it before its first draw")
        return SeededRandom, (self._key,)

    def named(self, name: str) -> SeededRandom:
        """A generator of its own for what has that name: it depends on neither the order of the names nor on
        what was drawn."""
        return SeededRandom(f"{self._key}|{name}")

    def uniform(self, low: float = 0.0, high: float = 1.0) -> float:
        """A float in [low, high)."""
        return low + (high - low) * ((self._next() >> 11) * _UNIT)

    def chance(self, probability: float) -> bool:
        """True with the given probability; one draw is consumed whatever the probability is."""
        return (self._next() >> 11) * _UNIT < probability

    def successes(self, trials: int, probability: float) -> int:
        """How many of so many trials succeed, each with the given probability."""
        drawn = islice(self._numbers, trials)
        return [(number >> 11) * _UNIT < probability for number in drawn].count(True)

    def integer(self, low: int, high: int) -> int:
        """An integer in [low, high], both included."""
        return low + int((self._next() >> 11) * _UNIT * (high - low + 1))

    def choice(self, items: Sequence[T]) -> T:
        """One item of a non-empty sequence."""
        return items[int((self._next() >> 11) * _UNIT * len(items))]

    def choices(self, items: Sequence[T], count: int) -> list[T]:
        """So many items of a non-empty sequence, each drawn from all of them."""
        size = len(items)
        return [items[int((number >> 11) * _UNIT * size)] for number in islice(self._numbers, count)]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """A shuffled copy (Fisher–Yates); one draw is consumed for each item but the first."""
        out = list(items)
        left = len(out)
        for number in islice(self._numbers, max(0, left - 1)):
            other = int((number >> 11) * _UNIT * left)
            left -= 1
            out[left], out[other] = out[other], out[left]
        return out

    def skip(self, count: int) -> None:
        """Consume so many draws, of which nothing would come."""
        next(islice(self._numbers, count, count), None)

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        """`count` distinct positions of the sequence, in random order; all of them if it is shorter."""
        return self.shuffled(items)[:count]

    def weighted(self, items: Sequence[T], weights: Sequence[float]) -> T:
        """One item, with probability proportional to its weight (weights are not all 0)."""
        point = (self._next() >> 11) * _UNIT * sum(weights)
        for item, weight in zip(items, weights, strict=True):
            point -= weight
            if point < 0:
                return item
        return items[-1]

    def exponential(self, mean: float) -> float:
        """An exponential draw with the given mean."""
        return -mean * math.log1p(-((self._next() >> 11) * _UNIT))
