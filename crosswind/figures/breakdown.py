"""The drop by operator, kind, component, profile, tool, turn and stage, as assigned and as exposed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

import msgspec

from crosswind.figures.attempts import Attempt, Component, Fault
from crosswind.figures.exposure import explain_no_noise
from crosswind.figures.paired import PairedDifference, compare_paired
from crosswind.figures.success import split_arms, success_by_task
from crosswind.figures.unpaired import UnpairedDifference, compare_unpaired

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
    unpaired: UnpairedDifference | None
    """As exposed, where no task is both clean and noisy: against all clean attempts."""
    because: str
    """Why nothing was injected; empty where something was."""


def measure_rows(attempts: Sequence[Attempt], kind_of: KindOf, *, seed: int = 0) -> tuple[DropRow, ...]:
    """The rows of every breakdown that the attempts have."""
    clean, noisy = split_arms(attempts)
    before = success_by_task(clean)
    paired = any(one.task in before for one in noisy)
    return tuple(
        _row(by, name, found, before, seed, paired=paired)
        for by in By
        for name, found in sorted(_gather(by, noisy, kind_of).items(), key=_in_order)
    )


class _Found:
    """The noisy attempts of one row."""

    def __init__(self) -> None:
        self.assigned: list[Attempt] = []
        self.exposed: list[Attempt] = []
        self.operators: set[str] = set()
        self.injected = 0


def _gather(by: By, noisy: Sequence[Attempt], kind_of: KindOf) -> dict[str, _Found]:
    gathered: defaultdict[str, _Found] = defaultdict(_Found)
    # Attempts of one profile share their operators, and many faults are equal.
    alike: defaultdict[tuple[str, ...], list[Attempt]] = defaultdict(list)
    for attempt in noisy:
        alike[(attempt.profile or "",) if by is By.PROFILE else attempt.assigned].append(attempt)
    for assigned, attempts in alike.items():
        names = defaultdict(set)
        for one in assigned if by in _ASSIGNED else ():
            names[_name_of_operator(by, one, kind_of)].add(one)
        for name, operators in names.items():
            if name:
                gathered[name].assigned += attempts
                gathered[name].operators |= operators if by is not By.PROFILE else set()
    named: dict[int, str] = {}
    for attempt in noisy:
        met: dict[str, None] = {}
        for fault in attempt.faults:
            if by is By.PROFILE:
                name = attempt.profile or ""
            elif id(fault) in named:
                name = named[id(fault)]
            else:
                name = named[id(fault)] = _name_of_fault(by, fault)
            if name:
                met[name] = None
                found = gathered[name]
                found.injected += 1
                found.operators.add(fault.operator)
        for name in met:
            gathered[name].exposed.append(attempt)
    return gathered


_ASSIGNED = (By.OPERATOR, By.KIND, By.COMPONENT, By.PROFILE)
"""What attempts are assigned. The others are met."""


def _name_of_operator(by: By, operator: str, kind_of: KindOf) -> str:
    if by in (By.OPERATOR, By.PROFILE):
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


def _row(by: By, name: str, found: _Found, clean: Mapping[str, float], seed: int, *, paired: bool) -> DropRow:
    where = by in _ASSIGNED
    withheld = sum(
        one.count
        for attempt in found.assigned
        for one in attempt.withheld
        if by is By.PROFILE or one.operator in found.operators
    )
    because = ""
    if not found.exposed:
        because = explain_no_noise(found.assigned, found.operators or None)
    as_assigned = None
    if where and found.exposed:
        as_assigned = compare_paired(clean, success_by_task(found.assigned), seed=seed)
    after = success_by_task(found.exposed)
    as_exposed = compare_paired(clean, after, seed=seed)
    return DropRow(
        by,
        name,
        len(found.assigned) if where else None,
        len(found.exposed),
        found.injected,
        withheld,
        as_assigned,
        as_exposed,
        None if paired else compare_unpaired(clean, after, seed=seed),
        because,
    )
