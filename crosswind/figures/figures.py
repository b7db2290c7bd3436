"""All figures of one set of attempts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from crosswind.figures.attempts import Arm, Attempt
from crosswind.figures.breakdown import DropRow, KindOf, kind_by_name, measure_rows
from crosswind.figures.drop import Drop, Flip, find_flips, measure_drop
from crosswind.figures.recovery import RecoveryRow, count_error_modes, measure_recovery
from crosswind.figures.success import ArmSuccess, measure_arm


class Figures(msgspec.Struct, frozen=True):
    """What is known of an agent under noise."""

    arms: Mapping[str, ArmSuccess]
    drop: Drop
    rows: tuple[DropRow, ...]
    flips: tuple[Flip, ...]
    recovery: tuple[RecoveryRow, ...]
    error_modes: Mapping[str, Mapping[str, int]]
    """By arm."""

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = msgspec.to_builtins(self)
        found["drop"]["relative"] = self.drop.relative
        return found


def measure(attempts: Sequence[Attempt], kind_of: KindOf = kind_by_name, *, seed: int = 0) -> Figures:
    """Compute every figure. The same attempts, in whatever order, give the same figures."""
    ordered = sorted(attempts, key=lambda one: (one.task, one.sample, one.arm.value, one.sessions))
    arms = {arm.value: [one for one in ordered if one.arm is arm] for arm in Arm}
    rows = measure_rows(ordered, kind_of, seed=seed)
    return Figures(
        {name: measure_arm(found) for name, found in arms.items() if found},
        measure_drop(ordered, rows, seed=seed),
        rows,
        find_flips(arms[Arm.CLEAN.value], arms[Arm.NOISY.value]),
        measure_recovery(ordered),
        {name: modes for name, found in arms.items() if (modes := count_error_modes(found))},
    )
