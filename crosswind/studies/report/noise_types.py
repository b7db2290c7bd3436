"""A line for each noise type of an evaluation: how often it was injected, and success with and without it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

CLEAN, NOISY = "clean", "noisy"


@dataclass(frozen=True, slots=True)
class TypeRow:
    """One noise type. Successes are shares; `without` is that of the same tasks in calm."""

    name: str
    injected: int
    """In all sessions of the store."""
    withheld: int
    tasks: int
    without_before: float
    without_after: float
    with_before: float
    with_after: float

    @property
    def gap_before(self) -> float:
        """What the noise cost before training (NoisyAgent, eq. 10, on held-out tasks)."""
        return self.without_before - self.with_before

    @property
    def gap_after(self) -> float:
        """What it cost after training."""
        return self.without_after - self.with_after


def type_rows(
    before: Mapping[str, Any], after: Mapping[str, Any], injected: Mapping[str, tuple[int, int]]
) -> list[TypeRow]:
    """The rows of the types that both results of `crosswind bench` have. `injected` gives, by operator, how
    many injections the store has, and how many the guard withheld."""
    old, new = _by_task(before), _by_task(after)
    rows = []
    for name in old:
        tasks = sorted(old[name].keys() & new.get(name, {}).keys() & old[CLEAN].keys() & new[CLEAN].keys())
        if name in (CLEAN, NOISY) or not tasks:
            continue
        shares = [
            fmean(arm[task] for task in tasks) for arm in (old[CLEAN], new[CLEAN], old[name], new[name])
        ]
        rows.append(TypeRow(name, *injected.get(name, (0, 0)), len(tasks), *shares))
    return rows


def _by_task(results: Mapping[str, Any]) -> dict[str, Mapping[str, float]]:
    arms: Mapping[str, Any] = results["arms"]
    found = {name: arm["by_task"] for name, arm in arms.items()}
    return {CLEAN: {}, **found}
