"""Two profiles on one agent and the same tasks, compared at the same dose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crosswind.figures.intervals import RESAMPLES
from crosswind.studies.evolve.fitness import MeasuredDose, PlayedSession

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """A difference of success, evolved − hand-made, with its 95 % interval, bootstrapped over the tasks."""

    difference: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """What both profiles cost an agent on so many tasks."""

    tasks: int
    ratio: float
    """How many times the hand-made dose the evolved one is, in exposed sessions or injections, whichever is
    more."""
    as_played: Interval
    at_equal_dose: Interval
    """The cost of the profile with the greater dose counts as if so many fewer sessions had met its noise."""

    @property
    def hurts_more(self) -> bool:
        """Whether the whole interval at equal dose says that the evolved profile does."""
        return self.at_equal_dose.high < 0

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Comparison:
        played, equal = Interval(**data["as_played"]), Interval(**data["at_equal_dose"])
        return Comparison(data["tasks"], data["ratio"], played, equal)


def compare(
    calm: Sequence[PlayedSession], hand_made: Sequence[PlayedSession], evolved: Sequence[PlayedSession]
) -> Comparison:
    """Compare on the tasks that were played in calm and under both. ValueError where there is none."""
    played = [_by_task(one) for one in (calm, hand_made, evolved)]
    tasks = sorted(set.intersection(*(set(one) for one in played)))
    if not tasks:
        raise ValueError("no task was played in calm and under both profiles: play the same tasks")
    clean, before, after = ([one[task] for task in tasks] for one in played)
    base = np.array([_mean_reward(one) for one in clean])
    lost = [base - np.array([_mean_reward(one) for one in side]) for side in (before, after)]
    doses = [np.array([_mean_dose(one) for one in side]) for side in (before, after)]
    every = np.arange(len(tasks))[np.newaxis]
    drawn = np.random.default_rng(0).integers(0, len(tasks), size=(RESAMPLES, len(tasks)))
    plain, _, ratio = _differences(lost, doses, every)
    resampled = _differences(lost, doses, drawn)
    equal = _differences(lost, doses, every)[1]
    return Comparison(
        len(tasks), float(ratio[0]), _interval(plain, resampled[0]), _interval(equal, resampled[1])
    )


def _differences(
    lost: Sequence[Floats], doses: Sequence[Floats], drawn: NDArray[np.int64]
) -> tuple[Floats, Floats, Floats]:
    """For each resampling of the tasks: the difference as played and at equal dose, and the doses' ratio."""
    before, after = (one[drawn].mean(axis=1) for one in lost)
    dose_before, dose_after = (one[drawn].mean(axis=1) for one in doses)
    ratio = (dose_after / np.maximum(dose_before, 1e-9)).max(axis=1)
    equal = before * np.minimum(1, ratio) - after / np.maximum(1, ratio)
    return before - after, equal, ratio


def _interval(value: Floats, resampled: Floats) -> Interval:
    low, high = np.percentile(resampled, [2.5, 97.5])
    return Interval(float(value[0]), float(low), float(high))


def _by_task(played: Sequence[PlayedSession]) -> dict[str, list[PlayedSession]]:
    found: dict[str, list[PlayedSession]] = {}
    for one in played:
        found.setdefault(one.task, []).append(one)
    return found


def _mean_reward(played: Sequence[PlayedSession]) -> float:
    return fmean(one.reward for one in played)


def _mean_dose(played: Sequence[PlayedSession]) -> tuple[float, ...]:
    dose = MeasuredDose.mean([one.dose for one in played])
    return dose.exposed, dose.injections
