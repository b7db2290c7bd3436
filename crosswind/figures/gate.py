"""A gate: whether an agent is good enough under noise, with a stated error rate, or whether that isn't known.

Its unit is the task: the mean success of its noisy attempts, or their paired difference to its clean ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from statistics import fmean

import msgspec

from crosswind.figures.attempts import Arm, Attempt
from crosswind.figures.exposure import explain_no_noise, leave_out_asleep
from crosswind.figures.paired import ByTask
from crosswind.figures.sequential import Claim, SequentialTest, Verdict, run_test
from crosswind.figures.success import split_arms, success_by_task

ERROR_RATE = 0.05
MOST_VOID = 0.1
"""The greatest share of the tasks that may have void attempts only where a gate passes: who knows how they
would have ended. A failure stands: the agent's own attempts showed it."""
EXIT_STATUS: Mapping[Verdict, int] = {Verdict.PASSED: 0, Verdict.FAILED: 4, Verdict.INCONCLUSIVE: 3}
"""The statuses that commands with a gate end with. 1 is left to work that failed, 2 to usage."""


class Measure(StrEnum):
    """What a gate looks at."""

    SUCCESS = "success"
    """Noisy success: `--fail-below`."""
    DROP = "drop"
    """Clean − noisy success, paired: `--max-drop`."""


class Gate(msgspec.Struct, frozen=True):
    """What an agent has to reach. The error rate is shared out evenly among the goals."""

    fail_below: float | None = None
    """The least noisy success, from 0 to 1."""
    max_drop: float | None = None
    """The greatest drop of success, from 0 to 1."""
    error_rate: float = ERROR_RATE

    def __post_init__(self) -> None:
        for name, value in (("fail_below", self.fail_below), ("max_drop", self.max_drop)):
            if value is not None and not 0.0 <= value < 1.0:
                raise ValueError(f"{name}: {value:g} isn't a share from 0 up to, but not, 1")
        if self.fail_below == 0.0:
            raise ValueError("fail_below: 0 holds for every agent; name a share above 0")
        if not 0.0 < self.error_rate < 0.5:
            raise ValueError(f"error_rate: {self.error_rate:g} isn't a share between 0 and 0.5")

    @property
    def claims(self) -> dict[Measure, Claim]:
        goals = [
            (Measure.SUCCESS, self.fail_below, 0.0, 1.0),
            (Measure.DROP, None if self.max_drop is None else -self.max_drop, -1.0, 1.0),
        ]
        given = [goal for goal in goals if goal[1] is not None]
        rate = self.error_rate / max(1, len(given))
        return {
            measure: Claim(goal, low, high, rate) for measure, goal, low, high in given if goal is not None
        }


class GoalResult(msgspec.Struct, frozen=True):
    """What became of one goal."""

    measure: Measure
    threshold: float
    verdict: Verdict
    value: float | None
    """The measure over the tasks that it looked at."""
    low: float | None
    high: float | None
    """The interval that decides: the goal fails or passes when its threshold isn't in it. Each end is wrong
    with a chance of the error rate at most."""
    tasks: int
    """Tasks that it looked at before it stopped."""
    of: int
    """Tasks that there were."""
    left_out: int
    """Tasks that were tried and have no attempt that counts; for a drop, none on one of both sides."""
    tasks_left: int | None
    """About how many more tasks would settle it, if they went as these did. None: they wouldn't."""
    text: str


class GateResult(msgspec.Struct, frozen=True):
    """What became of a gate: failed if a goal is, passed if all are."""

    verdict: Verdict
    error_rate: float
    goals: tuple[GoalResult, ...]

    @property
    def exit_status(self) -> int:
        return EXIT_STATUS[self.verdict]

    @property
    def difference(self) -> tuple[float, float] | None:
        """The interval of the difference (a drop is negative) by which a goal for the drop was decided."""
        for one in self.goals:
            if one.measure is Measure.DROP and one.low is not None and one.high is not None:
                return 0.0 - one.high, 0.0 - one.low
        return None

    @property
    def text(self) -> str:
        """One sentence for each goal."""
        return " ".join(one.text for one in self.goals)


def order_tasks(tasks: Iterable[str], seed: int = 0) -> list[str]:
    """The tasks in the order in which a gate looks at them: mixed, and the same wherever it is computed."""
    return sorted(set(tasks), key=lambda task: (sha256(f"{seed}/{task}".encode()).digest(), task))


def judge(
    attempts: Sequence[Attempt], gate: Gate, *, order: Sequence[str] | None = None, seed: int = 0
) -> GateResult:
    """Judge the attempts of one agent, clean and noisy. Where no noise acted, nothing can be told.

    `order` names the tasks in the order in which they are looked at; by default `order_tasks` of all. A
    caller that stops early plays tasks in this order and gives those that are finished, without a gap: the
    order in which tasks happen to finish is not independent of how they end.
    """
    clean, assigned = split_arms(attempts)
    noisy = leave_out_asleep(assigned)
    tasks = order_tasks((one.task for one in attempts), seed) if order is None else order
    asleep = explain_no_noise(assigned) if assigned and not noisy else ""
    tried = _find_tried(attempts, [one for one in attempts if one.arm is Arm.NOISY])
    return _judge(success_by_task(clean), success_by_task(noisy), gate, tasks, tried, asleep)


def judge_change(
    before: Sequence[Attempt], after: Sequence[Attempt], gate: Gate, *, seed: int = 0
) -> GateResult:
    """Judge what came after: its noisy success, and its drop from what was before. Where both sides have
    noisy attempts these are looked at, else the clean ones.
    """
    sides = split_arms(before), split_arms(after)
    if not all(noisy for _, noisy in sides):
        old, new = (success_by_task(clean) for clean, _ in sides)
        return _judge(old, new, gate, order_tasks([*old, *new], seed), _find_tried(before, after), "")
    awake = [leave_out_asleep(noisy) for _, noisy in sides]
    asleep = [noisy for (_, noisy), left in zip(sides, awake, strict=True) if not left]
    old, new = (success_by_task(noisy) for noisy in awake)
    because = explain_no_noise(asleep[0]) if asleep else ""
    tried = _find_tried(*([one for one in side if one.arm is Arm.NOISY] for side in (before, after)))
    return _judge(old, new, gate, order_tasks([*old, *new], seed), tried, because)


@dataclass(frozen=True, slots=True)
class _Tried:
    """The tasks that were tried, whether an attempt at them counts or not."""

    either: Set[str]
    """On either side."""
    after: Set[str]
    void: Set[str]
    """Those with a void attempt, on either side."""


def _find_tried(before: Sequence[Attempt], after: Sequence[Attempt]) -> _Tried:
    new = {one.task for one in after}
    void = {one.task for side in (before, after) for one in side if one.void is not None}
    return _Tried({one.task for one in before} | new, new, void)


def _judge(
    before: ByTask, after: ByTask, gate: Gate, tasks: Sequence[str], tried: _Tried, asleep: str
) -> GateResult:
    """`asleep`: why no noise acted; empty where some did."""
    units = {
        Measure.SUCCESS: after,
        Measure.DROP: {task: after[task] - before[task] for task in after.keys() & before.keys()},
    }
    goals = []
    for measure, claim in gate.claims.items():
        values = [round(units[measure][task], 12) for task in tasks if task in units[measure]]
        test = run_test(claim, () if asleep else values)
        expected = tried.after if measure is Measure.SUCCESS else tried.either
        left_out = expected - units[measure].keys()
        void = len(left_out & tried.void)
        too_many = test.verdict is Verdict.PASSED and void > MOST_VOID * (len(values) + void)
        goals.append(_describe(measure, claim, test, values, len(left_out), asleep, too_many))
    verdicts = {goal.verdict for goal in goals}
    worst = (Verdict.FAILED, Verdict.INCONCLUSIVE, Verdict.PASSED)
    verdict = next((one for one in worst if one in verdicts), Verdict.PASSED)
    return GateResult(verdict, gate.error_rate, tuple(goals))


def _describe(
    measure: Measure,
    claim: Claim,
    test: SequentialTest,
    values: Sequence[float],
    left_out: int,
    asleep: str,
    too_many_void: bool,
) -> GoalResult:
    verdict = Verdict.INCONCLUSIVE if too_many_void else test.verdict
    mean = fmean(values[: test.units]) if test.units else None
    low, high = test.interval() if test.units else (None, None)
    if measure is Measure.SUCCESS:
        threshold, value = claim.threshold, mean
        goal = f"success under noise of at least {threshold:.1%}"
        seen = "" if value is None else f"{value:.1%}"
    else:
        threshold, value = -claim.threshold, None if mean is None else 0.0 - mean
        low, high = (None, None) if low is None or high is None else (0.0 - high, 0.0 - low)
        goal = f"a drop of at most {100 * threshold + 0.0:.1f} points"
        seen = "" if value is None else f"{100 * value:.1f} points"
    if low is not None and high is not None:
        seen += f" [{100 * low + 0.0:.1f}, {100 * high + 0.0:.1f}]"
    left = test.units_left() if values and not asleep else None
    if asleep:
        rest = asleep
    elif not values:
        rest = "no task has an attempt that counts" + (" in both arms" if measure is Measure.DROP else "")
    else:
        rest = f"{seen} over {test.units:,} of {len(values):,} tasks"
        if test.verdict is Verdict.INCONCLUSIVE:
            rest += ", too few to tell"
            rest += (
                f"; about {left:,} more such tasks would" if left else "; more such tasks wouldn't, either"
            )
        rest += f" (error rate {claim.error_rate:.2g})"
        if left_out:
            have = "1 more task has" if left_out == 1 else f"{left_out:,} more tasks have"
            rest += f"; {have} no attempt that counts"
            rest += " in one of both" if measure is Measure.DROP else ""
        if too_many_void:
            rest += f", more than the {MOST_VOID:.0%} that a gate may leave out and pass"
    return GoalResult(
        measure,
        threshold,
        verdict,
        value,
        low,
        high,
        test.units,
        len(values),
        left_out,
        left,
        f"{verdict.value.capitalize()}: {goal}: {rest}.",
    )
