"""Faults that come or don't: severity is the probability, and a draw holds the fault's settings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Generic, TypeVar

from crosswind.injectors.faults import Fault
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, ModelTarget, Result, TransportTarget

Target = TypeVar("Target", ModelTarget, TransportTarget)


class FaultByChance(ABC, Generic[Target]):
    """An operator of such a fault. The chance is drawn first, and the settings in any case: each rule takes
    as much of its random stream whether it acts or not.
    """

    note: ClassVar[str]
    """What it did; the settings stand in braces."""

    def draw(self, target: Target, rng: SeededRandom, severity: float) -> Draw | None:
        hit, settings = rng.chance(severity), self.choose(rng)
        return settings if hit and self.fits(target) else None

    def apply(self, target: Target, draw: Draw) -> Result:
        return Result(self.make(draw), self.note.format(**draw))

    def fits(self, target: Target) -> bool:
        """Whether the fault may come there."""
        return True

    @abstractmethod
    def choose(self, rng: SeededRandom) -> Draw:
        """Draw the fault's settings."""

    @abstractmethod
    def make(self, draw: Draw) -> Fault:
        """The fault with these settings."""
