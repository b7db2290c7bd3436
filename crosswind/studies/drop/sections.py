"""What is shown of the figures, whatever the format: sentences and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crosswind.figures.attempts import Reaction
from crosswind.figures.breakdown import By, DropRow
from crosswind.figures.drop import Drop, Flip
from crosswind.figures.figures import Figures
from crosswind.figures.gate import GateResult
from crosswind.figures.paired import PairedDifference
from crosswind.figures.recovery import ALL
from crosswind.figures.success import ArmSuccess
from crosswind.figures.unpaired import UnpairedDifference
from crosswind.gateway.counts import count


@dataclass(frozen=True, slots=True)
class Section:
    """A table, or, without heads, sentences."""

    title: str
    heads: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    about: str = ""
    """What the table doesn't say by itself."""
    lines: tuple[str, ...] = ()
    detail: bool = False
    """Left out where there is little room."""


def describe(figures: Figures, *, read: int | None = None, of: int | None = None) -> list[Section]:
    """The sections of one set of attempts. Of its `of` sessions the bodies of `read` were read."""
    found = [
        Section("Success under noise", lines=headline(figures.drop)),
        success_section(figures.arms),
        *(_breakdown(figures, by) for by in By),
        flips_section("Flipped under noise", figures.flips, "clean", "noisy"),
        _recovery_section(figures, read, of),
        _error_section(figures),
        effort_section(figures.arms),
        _asleep_section(figures.rows),
    ]
    return [one for one in found if one.rows or one.lines]


def show_gate(sections: Sequence[Section], drop: Drop, gate: GateResult | None) -> list[Section]:
    """The sections with the interval that decided in the place of the bootstrapped one, which holds for one
    look only, and is too narrow for few tasks."""
    if gate is None or gate.difference is None:
        return list(sections)
    return [Section(sections[0].title, lines=headline(drop, gate.difference)), *sections[1:]]


def headline(drop: Drop, judged: tuple[float, float] | None = None) -> tuple[str, ...]:
    """The answer, in sentences. `judged` is the interval of the difference by which a gate decided."""
    if drop.because:
        return (f"{drop.because[:1].upper()}{drop.because[1:]}. So there is no success under noise to tell.",)
    if drop.unpaired is not None:
        two = drop.unpaired
        return (
            f"Success is {percent(two.before)} clean and {percent(two.after)} under noise: "
            f"{points(two.difference)} points {interval(two.low, two.high)}. No task is in both arms: this "
            "isn't paired, and may tell of the tasks.",
        )
    if drop.paired is None:
        return ("No task has a clean and a noisy attempt that count, so there is no drop to tell.",)
    paired = drop.paired
    low, high = judged or (paired.low, paired.high)
    lines = [
        f"Success went from {percent(paired.before)} clean to {percent(paired.after)} under noise: "
        f"{points(paired.difference)} points {interval(low, high)}{JUDGED if judged else ''}, paired over "
        f"{count(paired.n, 'task')}."
    ]
    if paired.before == 0.0:
        lines.append("No clean attempt succeeded, so noise could cost nothing: fix the agent first.")
    elif paired.low == paired.high == 0.0:
        # The bootstrap of equal differences has no width, which is no certainty.
        most = 1.0 - 0.05 ** (1.0 / paired.n)
        lines.append(
            f"No task differed. A loss in up to {percent(most)} of such tasks can't be ruled out (95 %)."
        )
    if (
        drop.retention.value is not None
        and drop.retention.low is not None
        and drop.retention.high is not None
    ):
        text = (
            f"Retention {percent(drop.retention.value)} "
            f"[{100 * drop.retention.low:.1f}, {100 * drop.retention.high:.1f}]"
        )
        if drop.relative is not None:
            text += f", relative robustness {100 * drop.relative:+.1f} %"
        if drop.component_retention is not None:
            text += f", over three components {percent(drop.component_retention)}"
        lines.append(f"{text}.")
    cost = drop.cost if paired.before else None
    if cost is not None and cost.gap is not None and cost.low is not None and cost.high is not None:
        lines.append(
            f"{percent(cost.exposure_rate)} of the noisy attempts met noise. It cost one that did "
            f"{100 * cost.gap:.1f} points {interval(cost.low, cost.high, sign='')}."
        )
    return tuple(lines)


JUDGED = " (the gate's interval)"
NO_NOISE = "no noise acted"


def success_section(arms: Mapping[str, ArmSuccess]) -> Section:
    """Success by arm, with Pass@k and pass^k where tasks were attempted more than once."""
    most = max((arm.samples[-1].k for arm in arms.values() if arm.samples), default=1)
    heads = ["arm", "attempts", "tasks", "success", "95 %"]
    heads += [f"Pass@{most}", f"pass^{most}"] if most > 1 else []
    rows = []
    for name, arm in arms.items():
        row = [name, _format_count(arm), f"{arm.tasks:,}"]
        if arm.success is None or arm.low is None or arm.high is None:
            row += [NO_NOISE if arm.asleep else "–", ""]
        else:
            row += [percent(arm.success), f"{100 * arm.low:.1f} – {100 * arm.high:.1f}"]
        if most > 1:
            last = arm.samples[-1] if arm.samples and arm.samples[-1].k == most else None
            row += [percent(last.any), percent(last.all)] if last else ["–", "–"]
        rows.append((*row, f"{arm.exposed:,}", _void(arm)))
    return Section(
        "Success",
        (*heads, "met noise", "void"),
        tuple(rows),
        "Attempts that count, of all. Void: failed for a reason that isn't the agent's; they count nowhere. "
        "The interval is Wilson's, over tasks.",
    )


def _format_count(arm: ArmSuccess) -> str:
    return f"{arm.counted:,}" if arm.counted == arm.attempts else f"{arm.counted:,} of {arm.attempts:,}"


def _void(arm: ArmSuccess) -> str:
    return ", ".join(f"{times} {reason}" for reason, times in arm.void.items())


_TITLES = {
    By.OPERATOR: "By operator",
    By.KIND: "By kind",
    By.COMPONENT: "By component",
    By.PROFILE: "By profile",
    By.TOOL: "By tool",
    By.TURN: "By turn",
    By.STAGE: "By stage",
}
_MOST_TURNS = 12
"""A longer table of turns is a detail."""


def _breakdown(figures: Figures, by: By) -> Section:
    rows = [row for row in figures.rows if row.by is by and row.exposed]
    assigned = by in (By.OPERATOR, By.KIND, By.COMPONENT, By.PROFILE)
    heads = [by.value, "met", "injected", "withheld" if assigned else "", "assigned", "exposed", "95 %"]
    cells = []
    for row in rows:
        exposed = row.as_exposed or row.unpaired
        low_high = "" if exposed is None else interval(exposed.low, exposed.high)
        cell = [
            row.name,
            f"{row.exposed:,}" + (f"/{row.assigned:,}" if assigned else ""),
            f"{row.injected:,}",
        ]
        cell += [f"{row.withheld:,}" if assigned else "", _difference(row.as_assigned)]
        cells.append((*cell, _difference(exposed), low_high))
    keep = [place for place, head in enumerate(heads) if head and (assigned or head != "assigned")]
    about = (
        "Points of success, noisy − clean, paired by task. Assigned: of all attempts with a rule for it. "
        "Exposed, with its interval: of those that met it, which may have met other noise, too."
    )
    return Section(
        _TITLES[by],
        tuple(heads[place] for place in keep),
        tuple(tuple(cell[place] for place in keep) for cell in cells),
        about if by is By.OPERATOR else "",
        detail=by is By.KIND
        or (by in (By.PROFILE, By.STAGE, By.TURN) and len(cells) < 2)
        or (by is By.TURN and len(cells) > _MOST_TURNS),
    )


def _difference(found: PairedDifference | UnpairedDifference | None) -> str:
    return "–" if found is None else points(found.difference)


def flips_section(title: str, flips: Sequence[Flip], before: str, after: str) -> Section:
    """The tasks that only one of two attempts solved, each with its sessions."""
    lost = sum(flip.after < flip.before for flip in flips)
    rows = [
        (
            flip.task if flip.sample == 0 else f"{flip.task} #{flip.sample}",
            "lost" if flip.after < flip.before else "gained",
            ", ".join(flip.operators) or "–",
            " ".join(flip.sessions_before),
            " ".join(flip.sessions_after),
        )
        for flip in flips
    ]
    about = (
        f"{lost:,} lost, {len(flips) - lost:,} gained. `crosswind sessions show ID --store STORE` prints a "
        "session."
    )
    return Section(title, ("task", "", "met", f"{before} session", f"{after} session"), tuple(rows), about)


_REACTIONS = (
    (Reaction.NOTICED, "noticed"),
    (Reaction.RETRIED, "retried"),
    (Reaction.WORKED_AROUND, "around"),
    (Reaction.INVENTED, "invented"),
    (Reaction.GAVE_UP, "gave up"),
    (Reaction.LOOPED, "looped"),
)


def _recovery_section(figures: Figures, read: int | None, of: int | None) -> Section:
    rows = []
    for row in figures.recovery:
        if row.read or row.name == ALL:
            counts = [f"{row.reactions.get(reaction.value, 0):,}" for reaction, _ in _REACTIONS]
            back = f"{row.recovered:,}/{row.lost:,}" if row.lost else "–"
            rows.append((row.name, f"{row.faults:,}", *counts, back))
    if not any(row.read for row in figures.recovery):
        rows = []
    about = "Around: went on by another call. Back: what the fault took away came back."
    whole = next((row for row in figures.recovery if row.name == ALL), None)
    if whole is not None and whole.turns is not None:
        about += f" It took {whole.turns:g} {'turn' if whole.turns == 1 else 'turns'} (median)."
    if read is not None and of is not None and read < of:
        about += f" Reactions were read from {read:,} of {of:,} sessions."
    heads = ("fault", "times", *(head for _, head in _REACTIONS), "back")
    return Section("What the agent did after faults", heads, tuple(rows), about)


_MODES = {
    "empty": "neither said nor called anything",
    "omitted": "answered without any call",
    "loop": "made the same call three times or more",
    "not_executed": "understood but not executed",
    "wrong_call": "not the calls of a solved attempt",
    "other": "other",
    "not read": "not read",
}


def _error_section(figures: Figures) -> Section:
    modes = [mode for mode in _MODES if any(mode in found for found in figures.error_modes.values())]
    arms = list(figures.error_modes)
    rows = [(_MODES[mode], *(f"{figures.error_modes[arm].get(mode, 0):,}" for arm in arms)) for mode in modes]
    return Section("How failed attempts failed", ("", *arms), tuple(rows))


def effort_section(arms: Mapping[str, ArmSuccess]) -> Section:
    """What an attempt took, on average."""
    rows = []
    for name, arm in arms.items():
        if arm.counted:
            cells = [_number(arm.turns, 1), _number(arm.tool_calls, 1), _number(arm.tokens_in, 0)]
            cells += [_number(arm.tokens_out, 0), _number(arm.seconds, 1), _number(arm.cost, 4)]
            rows.append((name, *cells))
    heads = ("an attempt took", "turns", "calls", "tokens in", "tokens out", "seconds", "cost")
    return Section("Effort", heads, tuple(rows))


def _asleep_section(rows: Sequence[DropRow]) -> Section:
    # Of a single profile the headline tells it.
    several = sum(row.by is By.PROFILE for row in rows) > 1
    shown = (By.OPERATOR, By.PROFILE) if several else (By.OPERATOR,)
    asleep = [row for row in rows if row.by in shown and row.because]
    by_reason: dict[str, list[str]] = {}
    for row in asleep:
        by_reason.setdefault(row.because, []).append(row.name)
    lines = [f"{', '.join(names)}: {reason}." for reason, names in by_reason.items()]
    return Section("Noise that did not act", lines=tuple(lines))


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def points(difference: float) -> str:
    return f"{100 * difference + 0.0:+.1f}"


def interval(low: float, high: float, sign: str = "+") -> str:
    return f"[{100 * low + 0.0:{sign}.1f}, {100 * high + 0.0:{sign}.1f}]"


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"
