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

    exposure_before: float
    exposure_after: float
    """The share of the episodes that met the type."""

    @property
    def gap_before(self) -> float:
        """What the noise cost before training an episode that met it (NoisyAgent, eq. 10, on held-out tasks,
        divided by the exposure)."""
        return self.undivided_before / self.exposure_before

    @property
    def gap_after(self) -> float:
        """What it cost after training."""
        return self.undivided_after / self.exposure_after

    @property
    def undivided_before(self) -> float:
        """The difference over all episodes that were assigned the type."""
        return self.without_before - self.with_before

    @property
    def undivided_after(self) -> float:
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
        calm, noisy = (
            [fmean(arm[task] for task in tasks) for arm in pair]
            for pair in ((old[CLEAN], new[CLEAN]), (old[name], new[name]))
        )
        exposures = _exposure(before, name), _exposure(after, name)
        rows.append(
            TypeRow(
                name,
                *injected.get(name, (0, 0)),
                tasks=len(tasks),
                without_before=calm[0],
                without_after=calm[1],
                with_before=noisy[0],
                with_after=noisy[1],
                exposure_before=exposures[0],
                exposure_after=exposures[1],
            )
        )
    return rows


def _exposure(results: Mapping[str, Any], name: str) -> float:
    """The share of the arm's episodes that met its type; 1 where an older benchmark didn't count."""
    cost = results["arms"][name].get("cost")
    return float(cost["exposure_rate"]) if cost and cost["exposure_rate"] else 1.0


def _by_task(results: Mapping[str, Any]) -> dict[str, Mapping[str, float]]:
    arms: Mapping[str, Any] = results["arms"]
    found = {name: arm["by_task"] for name, arm in arms.items()}
    return {CLEAN: {}, **found}
