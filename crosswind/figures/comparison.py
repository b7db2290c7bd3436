"""Two sets of attempts at the same tasks, side by side: two agents, two versions, two weeks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from crosswind.figures.attempts import Arm, Attempt
from crosswind.figures.drop import Drop, Flip, find_flips, measure_drop
from crosswind.figures.exposure import leave_out_asleep
from crosswind.figures.paired import PairedDifference, compare_paired
from crosswind.figures.success import ArmSuccess, measure_arm, success_by_task
from crosswind.figures.unpaired import UnpairedDifference, compare_unpaired


class ArmComparison(msgspec.Struct, frozen=True):
    """One arm of both."""

    before: ArmSuccess
    after: ArmSuccess
    paired: PairedDifference | None
    """None without common tasks, and where no noise acted in a noisy arm."""
    unpaired: UnpairedDifference | None
    """Only where no task is common."""


class OperatorComparison(msgspec.Struct, frozen=True):
    """The noisy attempts that met an operator, on both sides."""

    name: str
    exposed_before: int
    exposed_after: int
    paired: PairedDifference | None


class Comparison(msgspec.Struct, frozen=True):
    """After against before."""

    arms: Mapping[str, ArmComparison]
    """Those that both sides have."""
    missing: tuple[str, ...]
    """Arms that only one side has."""
    drop_before: Drop
    drop_after: Drop
    drops: PairedDifference | None
    """Of what noise does, noisy − clean by task: positive where the drop became smaller."""
    operators: tuple[OperatorComparison, ...]
    flips: tuple[Flip, ...]

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found


def measure_comparison(before: Sequence[Attempt], after: Sequence[Attempt], *, seed: int = 0) -> Comparison:
    """Compare two sets of attempts. Pairs are tasks of the same name in the same arm."""
    old, new = _Side(before), _Side(after)
    names = [name for name in old.arms if old.arms[name] and new.arms[name]]
    return Comparison(
        {name: _compare_arm(old, new, name, seed) for name in names},
        tuple(name for name in old.arms if bool(old.arms[name]) != bool(new.arms[name])),
        measure_drop(before, seed=seed),
        measure_drop(after, seed=seed),
        compare_paired(old.effects(), new.effects(), seed=seed),
        _compare_operators(old.arms[_NOISY], new.arms[_NOISY], seed),
        tuple(flip for name in names for flip in find_flips(old.arms[name], new.arms[name])),
    )


_CLEAN, _NOISY = Arm.CLEAN.value, Arm.NOISY.value


class _Side:
    """One set of attempts by arm, and the success of its tasks. What never met noise has no noisy success."""

    def __init__(self, attempts: Sequence[Attempt]) -> None:
        self.arms = {arm.value: [one for one in attempts if one.arm is arm] for arm in Arm}
        self.by_task = {
            _CLEAN: success_by_task(self.arms[_CLEAN]),
            _NOISY: success_by_task(leave_out_asleep(self.arms[_NOISY])),
        }

    def effects(self) -> dict[str, float]:
        """Of each task, noisy − clean success."""
        clean, noisy = self.by_task[_CLEAN], self.by_task[_NOISY]
        return {task: noisy[task] - clean[task] for task in noisy if task in clean}


def _compare_arm(before: _Side, after: _Side, name: str, seed: int) -> ArmComparison:
    first, second = measure_arm(before.arms[name]), measure_arm(after.arms[name])
    if first.asleep or second.asleep:
        return ArmComparison(first, second, None, None)
    old, new = before.by_task[name], after.by_task[name]
    paired = compare_paired(old, new, seed=seed)
    unpaired = compare_unpaired(old, new, seed=seed) if paired is None else None
    return ArmComparison(first, second, paired, unpaired)


def _compare_operators(
    before: Sequence[Attempt], after: Sequence[Attempt], seed: int
) -> tuple[OperatorComparison, ...]:
    met: list[defaultdict[str, list[Attempt]]] = [defaultdict(list), defaultdict(list)]
    for side, attempts in zip(met, (before, after), strict=True):
        for attempt in attempts:
            faults = attempt.faults
            if not faults or attempt.void is not None or attempt.success is None:
                continue
            if len(faults) == 1:
                side[faults[0].operator].append(attempt)
                continue
            for name in {fault.operator for fault in faults}:
                side[name].append(attempt)
    return tuple(
        OperatorComparison(
            name,
            len(met[0].get(name, ())),
            len(met[1].get(name, ())),
            compare_paired(
                success_by_task(met[0].get(name, ())), success_by_task(met[1].get(name, ())), seed=seed
            ),
        )
        for name in sorted(met[0].keys() | met[1].keys())
    )
