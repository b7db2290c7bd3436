"""Seeded draws keyed by names, equal on every platform: only `Random.random` is built upon."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def stable_seed(*key: object) -> int:
    """A 31-bit seed that depends on the key's texts alone."""
    text = "\x1f".join(str(part) for part in key)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") & 0x7FFFFFFF


class Draws:
    """One stream of draws. Two of the same key give the same sequence, in any process."""

    __slots__ = ("_next",)

    def __init__(self, *key: object) -> None:
        text = "\x1f".join(str(part) for part in key)
        seed = hashlib.blake2b(text.encode(), digest_size=16).digest()
        self._next = random.Random(int.from_bytes(seed, "little")).random

    def integer(self, low: int, high: int) -> int:
        """An integer in [low, high], both included."""
        return low + int(self._next() * (high - low + 1))

    def choice(self, items: Sequence[T]) -> T:
        return items[int(self._next() * len(items))]

    def chance(self, probability: float) -> bool:
        return self._next() < probability

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        """`count` items at distinct positions, in random order."""
        pool = list(items)
        for position in range(count):
            other = self.integer(position, len(pool) - 1)
            pool[position], pool[other] = pool[other], pool[position]
        return pool[:count]
