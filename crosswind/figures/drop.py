"""How much success dropped under noise, in all, and the tasks that flipped."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from statistics import fmean

import msgspec

from crosswind.figures.attempts import Attempt, Component
from crosswind.figures.breakdown import By, DropRow
from crosswind.figures.exposure import explain_no_noise, leave_out_asleep
from crosswind.figures.paired import (
    NoiseCost,
    PairedDifference,
    Ratio,
    compare_paired,
    compare_ratio,
    measure_cost,
)
from crosswind.figures.success import split_arms, success_by_task
from crosswind.figures.unpaired import UnpairedDifference, compare_unpaired


class Flip(msgspec.Struct, frozen=True):
    """A task that only one of two attempts solved."""

    task: str
    sample: int
    before: float
    after: float
    sessions_before: tuple[str, ...]
    sessions_after: tuple[str, ...]
    operators: tuple[str, ...]
    """What the second attempt met."""


class Drop(msgspec.Struct, frozen=True):
    """The drop in all."""

    paired: PairedDifference | None
    """Noisy − clean, as assigned. None without a task in both arms, or where no noise acted."""
    unpaired: UnpairedDifference | None
    """Where no task is in both arms, as in live traffic: noisy − clean of all attempts."""
    cost: NoiseCost | None
    """The same, divided by the exposure, too."""
    retention: Ratio
    """Noisy over clean success, on the same tasks."""
    component_retention: float | None
    """RobustBench-TC's: 1 − mean(Δ observation, action, reward) / clean. None unless all three were met."""
    because: str
    """Why nothing was injected; empty where something was."""

    @property
    def relative(self) -> float | None:
        """AgentNoiseBench's robustness: the relative change of success, (noisy − clean) / clean."""
        return None if self.retention.value is None else self.retention.value - 1.0


def measure_drop(attempts: Sequence[Attempt], rows: Sequence[DropRow] = (), *, seed: int = 0) -> Drop:
    """The drop in all. `rows` has those of the components."""
    clean, assigned = split_arms(attempts)
    noisy = leave_out_asleep(assigned)
    if assigned and not noisy:
        return Drop(None, None, None, Ratio(None), None, explain_no_noise(assigned))
    before, after = success_by_task(clean), success_by_task(noisy)
    tried = Counter([one.task for one in noisy])
    met = Counter([one.task for one in noisy if one.faults])
    exposed = {task: met[task] / times for task, times in tried.items()}
    paired = compare_paired(before, after, seed=seed)
    return Drop(
        paired,
        compare_unpaired(before, after, seed=seed) if paired is None else None,
        measure_cost(before, after, exposed, seed=seed),
        compare_ratio(after, before, seed=seed),
        _component_retention(before, rows),
        "",
    )


_AVERAGED = (Component.OBSERVATION, Component.ACTION, Component.REWARD)


def _component_retention(clean: Mapping[str, float], rows: Sequence[DropRow]) -> float | None:
    drops = {
        row.name: -row.as_assigned.difference
        for row in rows
        if row.by is By.COMPONENT and row.as_assigned is not None and row.exposed
    }
    base = fmean(clean.values()) if clean else 0.0
    if base == 0.0 or not all(one.value in drops for one in _AVERAGED):
        return None
    return 1.0 - fmean(drops[one.value] for one in _AVERAGED) / base


def find_flips(before: Iterable[Attempt], after: Iterable[Attempt]) -> tuple[Flip, ...]:
    """The tasks whose outcome differs between two attempts of the same sample: lost ones first."""
    firsts = {(one.task, one.sample): one for one in before if one.void is None and one.success is not None}
    flips = []
    for second in after:
        if second.void is not None or second.success is None:
            continue
        first = firsts.get((second.task, second.sample))
        if first is None or first.success is None:
            continue
        if (first.success >= 1.0) != (second.success >= 1.0):
            flips.append(
                Flip(
                    second.task,
                    second.sample,
                    first.success,
                    second.success,
                    first.sessions,
                    second.sessions,
                    tuple(dict.fromkeys(fault.operator for fault in second.faults)),
                )
            )
    return tuple(
        sorted(flips, key=lambda flip: (flip.after - flip.before, by_number(flip.task), flip.sample))
    )


_NUMBER = re.compile(r"([0-9]{1,18})")


@lru_cache(maxsize=65536)
def by_number(name: str) -> tuple[tuple[str | int, ...], str]:
    """The key that sorts names by the numbers in them: t2 before t10."""
    parts = enumerate(_NUMBER.split(name))
    return tuple(int(part) if place % 2 else part for place, part in parts), name
