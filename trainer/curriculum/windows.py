"""What a noise type costs: success of its rollouts and of their clean siblings, in decaying windows (eq. 10).

Rollouts count in the arm that they were assigned (eq. 7 and 9). Not all of the noisy ones are exposed to
noise, so the difference as assigned is divided by the rate of exposure: Δ is what noise costs a rollout that
meets it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Literal

from crosswind.figures.intervals import Z_95
from crosswind.gateway.trajectory.record import Arm
from crosswind.trainer.config.settings import GapSettings
from crosswind.trainer.rollouts.groups import Group

Count = Literal["assigned", "exposed"]
"""Which rollouts are a type's: those that were assigned it, or those that met it."""


@dataclass(frozen=True, slots=True)
class Window:
    """Successes and rollouts, decayed step by step."""

    successes: float = 0.0
    rollouts: float = 0.0

    def add(self, successes: int, rollouts: int, decay: float) -> Window:
        return Window(self.successes * decay + successes, self.rollouts * decay + rollouts)

    @property
    def rate(self) -> float:
        return self.successes / self.rollouts if self.rollouts else 0.0

    @property
    def variance(self) -> float:
        """Of the rate, by a binomial with one success and one failure added, so that it never is 0."""
        smoothed = (self.successes + 1.0) / (self.rollouts + 2.0)
        return smoothed * (1.0 - smoothed) / max(self.rollouts, 1.0)


@dataclass(frozen=True, slots=True)
class Gap:
    """Δ of eq. 10: clean success less noisy success, with its standard error."""

    value: float
    error: float

    @property
    def upper(self) -> float:
        """The one-sided 95 % upper bound, by the normal approximation."""
        return self.value + 1.645 * self.error

    @property
    def interval(self) -> tuple[float, float]:
        """The two-sided 95 % interval, by the normal approximation."""
        return self.value - Z_95 * self.error, self.value + Z_95 * self.error

    def divided_by(self, rate: Window) -> Gap | None:
        """Δ of those who were exposed, where the others are as clean ones; None where nobody was.

        By the delta method. That the exposed succeed less often makes the error smaller than this.
        """
        if not rate.successes:
            return None
        variance = (self.error**2 + (self.value / rate.rate) ** 2 * rate.variance) / rate.rate**2
        return Gap(self.value / rate.rate, sqrt(variance))


@dataclass(frozen=True, slots=True)
class TypeWindow:
    """One noise type: its place in the curriculum, and the success of its rollouts and of their clean
    siblings.
    """

    level: int
    share: float = 0.0
    clean: Window = Window()
    noisy: Window = Window()
    """Of the rollouts that were assigned the type; of those that met it where `count` is `exposed`."""
    rollouts: int = 0
    """The rollouts in `noisy`, undecayed."""
    exposure: Window = Window()
    """Of the rollouts that were assigned the type, those that met it."""
    count: Count = "assigned"

    @property
    def counted_gap(self) -> Gap | None:
        """Δ over groups that held this type, as its rollouts are counted; None without data."""
        if not self.noisy.rollouts or not self.clean.rollouts:
            return None
        error = sqrt(self.clean.variance + self.noisy.variance)
        return Gap(self.clean.rate - self.noisy.rate, error)

    @property
    def gap(self) -> Gap | None:
        """Δ of the rollouts that met the type; None without data."""
        if self.count == "exposed" or (counted := self.counted_gap) is None:
            return self.counted_gap
        return counted.divided_by(self.exposure)


def find_clean(group: Group, success_at: float) -> list[bool]:
    """Whether each clean rollout of a group succeeded."""
    return [one.reward >= success_at for one in group.rollouts if one.arm is Arm.CLEAN]


def update_windows(
    name: str, window: TypeWindow, groups: Sequence[Group], settings: GapSettings, count: Count
) -> TypeWindow:
    """The type's windows after a step: its rollouts at the present level, and the clean ones of the same
    groups.
    """
    noisy: list[bool] = []
    clean: list[bool] = []
    exposed: list[bool] = []
    for group in groups:
        own = [one for one in group.rollouts if (one.noise_type, one.level) == (name, window.level)]
        exposed += [one.exposed for one in own]
        counted = [one for one in own if one.exposed or count == "assigned"]
        if counted:
            noisy += [one.reward >= settings.success_at for one in counted]
            clean += find_clean(group, settings.success_at)
    return TypeWindow(
        window.level,
        window.share,
        window.clean.add(sum(clean), len(clean), settings.decay),
        window.noisy.add(sum(noisy), len(noisy), settings.decay),
        window.rollouts + len(noisy),
        window.exposure.add(sum(exposed), len(exposed), settings.decay),
        count,
    )
