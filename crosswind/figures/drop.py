"""How much success dropped under noise, in all and by operator, kind, component, tool, turn and stage."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from statistics import fmean

import msgspec

from crosswind.figures.attempts import Arm, Attempt, Component, Fault
from crosswind.figures.exposure import explain_no_noise
from crosswind.figures.paired import (
    NoiseCost,
    PairedDifference,
    Ratio,
    compare_paired,
    compare_ratio,
    mean_by_key,
    measure_cost,
)
from crosswind.figures.success import success_by_task

KindOf = Callable[[str], tuple[str, Component | None]]
"""Gives an operator's kind and component."""


def kind_by_name(operator: str) -> tuple[str, Component | None]:
    """The kind that an operator's name begins with, where nothing else is known of it."""
    return operator.partition(".")[0], None


class By(StrEnum):
    """What a drop is broken down by."""

    OPERATOR = "operator"
    KIND = "kind"
    COMPONENT = "component"
    PROFILE = "profile"
    TOOL = "tool"
    TURN = "turn"
    STAGE = "stage"


STAGES = ("early", "middle", "late")
"""The thirds of an attempt's turns."""


class DropRow(msgspec.Struct, frozen=True):
    """The drop for one operator, kind, component, …. Differences are noisy − clean: a drop is negative."""

    by: By
    name: str
    assigned: int | None
    """Noisy attempts with a rule for it; None for a tool, a turn or a stage, which aren't assigned."""
    exposed: int
    """Noisy attempts that met it."""
    injected: int
    withheld: int
    as_assigned: PairedDifference | None
    """Over the tasks with a clean attempt and one that was assigned it."""
    as_exposed: PairedDifference | None
    """Over the tasks with a clean attempt and one that met it: of these attempts only."""
    because: str
    """Why nothing was injected; empty where something was."""


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
    clean, noisy = split_arms(attempts)
    if noisy and not any(one.exposed for one in noisy):
        return Drop(None, None, Ratio(None), None, explain_no_noise(noisy))
    before, after = success_by_task(clean), success_by_task(noisy)
    exposed = mean_by_key((one.task, float(one.exposed)) for one in noisy)
    return Drop(
        compare_paired(before, after, seed=seed),
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


def measure_rows(attempts: Sequence[Attempt], kind_of: KindOf, *, seed: int = 0) -> tuple[DropRow, ...]:
    """The rows of every breakdown that the attempts have."""
    clean, noisy = split_arms(attempts)
    before = success_by_task(clean)
    return tuple(
        row
        for by in By
        for name, found in sorted(_gather(by, noisy, kind_of).items(), key=_in_order)
        if (row := _row(by, name, found, before, seed)) is not None
    )


class _Found:
    """The noisy attempts of one row."""

    def __init__(self) -> None:
        self.assigned: list[Attempt] = []
        self.exposed: list[Attempt] = []
        self.operators: set[str] = set()
        self.injected = 0


def _gather(by: By, noisy: Iterable[Attempt], kind_of: KindOf) -> dict[str, _Found]:
    gathered: dict[str, _Found] = {}
    for attempt in noisy:
        assigned: dict[str, None] = {}
        if by is By.PROFILE:
            assigned = dict.fromkeys([attempt.profile] if attempt.profile else [])
        elif by in (By.OPERATOR, By.KIND, By.COMPONENT):
            for operator in attempt.assigned:
                name = _name_of_operator(by, operator, kind_of)
                assigned[name] = None
                gathered.setdefault(name, _Found()).operators.add(operator)
        for name in assigned:
            gathered.setdefault(name, _Found()).assigned.append(attempt)
        met: dict[str, None] = {}
        for fault in attempt.faults:
            name = attempt.profile or "" if by is By.PROFILE else _name_of_fault(by, fault)
            if name:
                met[name] = None
                gathered.setdefault(name, _Found()).injected += 1
                gathered[name].operators.add(fault.operator)
        for name in met:
            gathered[name].exposed.append(attempt)
    return gathered


def _name_of_operator(by: By, operator: str, kind_of: KindOf) -> str:
    if by is By.OPERATOR:
        return operator
    kind, component = kind_of(operator)
    return kind if by is By.KIND else (component or "unknown")


def _name_of_fault(by: By, fault: Fault) -> str:
    """Empty where the fault has none."""
    names = {
        By.OPERATOR: fault.operator,
        By.KIND: fault.kind,
        By.COMPONENT: fault.component or "unknown",
        By.TOOL: fault.tool or "",
        By.TURN: "" if fault.turn < 0 else str(fault.turn + 1),
        By.STAGE: "" if fault.stage is None else STAGES[fault.stage],
    }
    return names[by]


def _in_order(item: tuple[str, _Found]) -> tuple[int, str]:
    """Turns as numbers, stages as they come, the rest by name."""
    name = item[0]
    return (int(name) if name.isdecimal() else STAGES.index(name) if name in STAGES else 0), name


def _row(by: By, name: str, found: _Found, clean: Mapping[str, float], seed: int) -> DropRow | None:
    where = by not in (By.TOOL, By.TURN, By.STAGE)
    withheld = sum(
        one.count
        for attempt in found.assigned
        for one in attempt.withheld
        if by is By.PROFILE or one.operator in found.operators
    )
    because = ""
    if not found.exposed:
        because = explain_no_noise(found.assigned, name if by is By.OPERATOR else None)
    as_assigned = None
    if where and found.exposed:
        as_assigned = compare_paired(clean, success_by_task(found.assigned), seed=seed)
    return DropRow(
        by,
        name,
        len(found.assigned) if where else None,
        len(found.exposed),
        found.injected,
        withheld,
        as_assigned,
        compare_paired(clean, success_by_task(found.exposed), seed=seed) if found.exposed else None,
        because,
    )


def split_arms(attempts: Iterable[Attempt]) -> tuple[list[Attempt], list[Attempt]]:
    """The counted clean attempts, and the counted noisy ones."""
    arms: tuple[list[Attempt], list[Attempt]] = ([], [])
    for one in attempts:
        if one.counts:
            arms[one.arm is Arm.NOISY].append(one)
    return arms


def find_flips(before: Iterable[Attempt], after: Iterable[Attempt]) -> tuple[Flip, ...]:
    """The tasks whose outcome differs between two attempts of the same sample: lost ones first."""
    firsts = {(one.task, one.sample): one for one in before if one.counts}
    flips = []
    for second in after:
        first = firsts.get((second.task, second.sample))
        if first is None or first.success is None or second.success is None or not second.counts:
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
    return tuple(sorted(flips, key=lambda flip: (flip.after - flip.before, flip.task, flip.sample)))
