"""What is shown of a comparison."""

from __future__ import annotations

from collections.abc import Sequence

from crosswind.figures.comparison import ArmComparison, Comparison
from crosswind.figures.drop import Drop
from crosswind.figures.gate import GateResult
from crosswind.figures.success import ArmSuccess
from crosswind.gateway.counts import count
from crosswind.studies.drop.sections import (
    JUDGED,
    NO_NOISE,
    Section,
    effort_section,
    flips_section,
    interval,
    percent,
    points,
)


def describe_comparison(found: Comparison, gate: GateResult | None = None) -> list[Section]:
    """The sections of a comparison. What a gate judged has the interval by which it did."""
    sections = [
        Section("Comparison", lines=_headline(found, gate)),
        _arms_section(found),
        _operators_section(found),
        flips_section("Flipped", found.flips, "before", "after"),
        effort_section(
            {
                f"{name} {side}": arm
                for name, both in found.arms.items()
                for side, arm in (("before", both.before), ("after", both.after))
            }
        ),
    ]
    return [one for one in sections if one.rows or one.lines]


def _headline(found: Comparison, gate: GateResult | None) -> tuple[str, ...]:
    judged = "noisy" if "noisy" in found.arms else "clean"
    decided = None if gate is None else gate.difference
    lines = [
        line
        for name, arm in found.arms.items()
        if (line := _arm_line(name, arm, decided if name == judged else None))
    ]
    if not found.arms:
        lines.append("The two have no arm in common that was played, so there is nothing to compare.")
    elif not lines:
        lines.append("No attempt counts on both sides, so there is nothing to compare.")
    lines += [f"Only one side has the {name} arm." for name in found.missing]
    for side, drop in (("Before", found.drop_before), ("After", found.drop_after)):
        if drop.because:
            lines.append(f"{side}: {drop.because}.")
    if found.drops is not None and found.drop_before.paired and found.drop_after.paired:
        lines.append(
            f"The drop under noise went from {_lost(found.drop_before)} to {_lost(found.drop_after)} points: "
            f"a difference of {points(found.drops.difference)} "
            f"{interval(found.drops.low, found.drops.high)} over "
            f"{count(found.drops.n, 'task')}."
        )
    return tuple(lines)


def _lost(drop: Drop) -> str:
    return "–" if drop.paired is None else points(drop.paired.difference)


def _arm_line(name: str, arm: ArmComparison, decided: tuple[float, float] | None) -> str:
    if arm.paired is not None:
        one = arm.paired
        low, high = decided or (one.low, one.high)
        way = "rose" if low > 0 else "FELL" if high < 0 else "did not change beyond doubt"
        return (
            f"{name.capitalize()} success {way}: {percent(one.before)} to {percent(one.after)}, "
            f"{points(one.difference)} points {interval(low, high)}{JUDGED if decided else ''}, paired over "
            f"{count(one.n, 'task')}."
        )
    if arm.unpaired is not None:
        two = arm.unpaired
        return (
            f"{name.capitalize()} success: {percent(two.before)} and {percent(two.after)}, "
            f"{points(two.difference)} points {interval(two.low, two.high)}. No task is common: this isn't "
            "paired, and may tell of the tasks."
        )
    return ""


def _arms_section(found: Comparison) -> Section:
    rows = []
    for name, arm in found.arms.items():
        difference = arm.paired or arm.unpaired
        cells = [_success(side) for side in (arm.before, arm.after)]
        cells += (
            ["–", ""]
            if difference is None
            else [
                points(difference.difference),
                interval(difference.low, difference.high),
            ]
        )
        counts = f"{arm.before.counted:,} → {arm.after.counted:,}"
        rows.append((name, counts, f"{arm.paired.n if arm.paired else 0:,}", *cells))
    heads = ("arm", "attempts", "tasks", "before", "after", "difference", "95 %")
    about = "Before and after are over all tasks of a side, the difference over the tasks that both have."
    return Section("Success by arm", heads, tuple(rows), about)


def _operators_section(found: Comparison) -> Section:
    rows: list[tuple[str, ...]] = []
    for one in found.operators:
        cells: Sequence[str] = ("–", "–", "–", "")
        if one.paired is not None:
            cells = (
                percent(one.paired.before),
                percent(one.paired.after),
                points(one.paired.difference),
                interval(one.paired.low, one.paired.high),
            )
        rows.append((one.name, f"{one.exposed_before:,} → {one.exposed_after:,}", *cells))
    heads = ("operator", "met by", "before", "after", "difference", "95 %")
    return Section("Of the attempts that met it", heads, tuple(rows))


def _success(arm: ArmSuccess) -> str:
    if arm.success is None:
        return NO_NOISE if arm.asleep else "–"
    return percent(arm.success)
