"""A line for each noise type of an evaluation: how often it was injected, and success with and without it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from crosswind.figures.paired import PairedDifference, compare_paired

CLEAN, NOISY = "clean", "noisy"


@dataclass(frozen=True, slots=True)
class TypeRow:
    """One noise type. `before` and `after` training: from the same tasks in calm to those under it."""

    name: str
    injected: int
    """In all sessions of the store."""
    withheld: int
    before: PairedDifference
    after: PairedDifference
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
        return 0.0 - self.before.difference

    @property
    def undivided_after(self) -> float:
        return 0.0 - self.after.difference


def type_rows(
    before: Mapping[str, Any], after: Mapping[str, Any], injected: Mapping[str, tuple[int, int]]
) -> list[TypeRow]:
    """The rows of the types that both results of `crosswind bench` have. `injected` gives, by operator, how
    many injections the store has, and how many the guard withheld."""
    old, new = _by_task(before), _by_task(after)
    rows = []
    for name in old:
        tasks = old[name].keys() & new.get(name, {}).keys() & old[CLEAN].keys() & new[CLEAN].keys()
        if name in (CLEAN, NOISY) or not tasks:
            continue
        found = [
            compare_paired(arms[CLEAN], {task: arms[name][task] for task in tasks}) for arms in (old, new)
        ]
        assert found[0] is not None and found[1] is not None, "they have tasks in common"
        exposures = _exposure(before, name), _exposure(after, name)
        rows.append(TypeRow(name, *injected.get(name, (0, 0)), found[0], found[1], *exposures))
    return rows


def _exposure(results: Mapping[str, Any], name: str) -> float:
    """The share of the arm's episodes that met its type; 1 where an older benchmark didn't count."""
    cost = results["arms"][name].get("cost")
    return float(cost["exposure_rate"]) if cost and cost["exposure_rate"] else 1.0


def _by_task(results: Mapping[str, Any]) -> dict[str, Mapping[str, float]]:
    arms: Mapping[str, Any] = results["arms"]
    found = {name: arm["by_task"] for name, arm in arms.items()}
    return {CLEAN: {}, **found}
