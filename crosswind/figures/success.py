"""Success of an arm: its share with an interval, Avg@k, Pass@k and pass^k, and what it took."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import cast

import msgspec
from msgspec.structs import replace

from crosswind.figures.attempts import Arm, Attempt
from crosswind.figures.exposure import leave_out_asleep
from crosswind.figures.intervals import wilson

SOLVED = 1.0
"""The least success that counts as solved, where a figure asks for yes or no."""


class SamplesSuccess(msgspec.Struct, frozen=True):
    """Of k attempts at each task; means over the tasks with at least k attempts."""

    k: int
    tasks: int
    avg: float
    """Avg@k: the mean success."""
    any: float
    """Pass@k: at least one of k solves the task."""
    all: float
    """pass^k: all of k solve it."""


class ArmSuccess(msgspec.Struct, frozen=True):
    """An arm. Figures on success are None where none of its attempts counts."""

    attempts: int
    counted: int
    tasks: int
    success: float | None
    low: float | None
    high: float | None
    samples: tuple[SamplesSuccess, ...]
    exposed: int
    """Counted attempts that met noise."""
    asleep: bool
    """Whether it was assigned noise and none acted: then it has no success of its own."""
    void: Mapping[str, int]
    """Attempts that don't count, by reason."""
    pending: int
    """Attempts without an outcome yet."""
    turns: float | None
    tool_calls: float | None
    tokens_in: float | None
    tokens_out: float | None
    seconds: float | None
    cost: float | None
    """These are means over the counted attempts; None where they aren't known of all."""


def success_by_task(attempts: Iterable[Attempt]) -> dict[str, float]:
    """The mean success of each task's counted attempts."""
    return _means(_gather(attempts))


def _gather(attempts: Iterable[Attempt]) -> dict[str, list[float]]:
    """The success of each task's counted attempts."""
    gathered: dict[str, list[float]] = {}
    for one in attempts:
        success = one.success
        if success is None or one.void is not None:
            continue
        found = gathered.get(one.task)
        if found is None:
            gathered[one.task] = [success]
        else:
            found.append(success)
    return gathered


def _means(gathered: Mapping[str, Sequence[float]]) -> dict[str, float]:
    return {task: sum(found) / len(found) for task, found in gathered.items()}


def measure_arm(attempts: Sequence[Attempt]) -> ArmSuccess:
    """The figures of one arm's attempts. Noisy ones under a profile that never acted have no success."""
    awake = leave_out_asleep(attempts) if any(one.arm is Arm.NOISY for one in attempts) else attempts
    found = measure_success(awake)
    if len(awake) == len(attempts):
        return found
    everything = measure_success(attempts)
    if found.counted:
        return replace(found, attempts=everything.attempts, void=everything.void, pending=everything.pending)
    return replace(everything, success=None, low=None, high=None, samples=(), asleep=True)


def measure_success(attempts: Sequence[Attempt]) -> ArmSuccess:
    """The figures of these attempts, whether they met noise or not."""
    counted = [one for one in attempts if one.void is None and one.success is not None]
    gathered = _gather(counted)
    by_task = _means(gathered)
    success = fmean(by_task.values()) if by_task else None
    low, high = wilson(success, len(by_task)) if success is not None else (None, None)
    return ArmSuccess(
        attempts=len(attempts),
        counted=len(counted),
        tasks=len(by_task),
        success=success,
        low=low,
        high=high,
        samples=_measure_samples(gathered),
        exposed=len([one for one in counted if one.faults]),
        asleep=False,
        void=dict(sorted(Counter([one.void.value for one in attempts if one.void is not None]).items())),
        pending=len([one for one in attempts if one.void is None and one.success is None]),
        turns=_mean([one.turns for one in counted]),
        tool_calls=_mean([one.tool_calls for one in counted]),
        tokens_in=_mean([one.tokens_in for one in counted]),
        tokens_out=_mean([one.tokens_out for one in counted]),
        seconds=_mean([one.seconds for one in counted]),
        cost=_mean([one.cost for one in counted]),
    )


def _measure_samples(gathered: Mapping[str, Sequence[float]]) -> tuple[SamplesSuccess, ...]:
    """For k = 1, 2, 4, … and the greatest k that every task has."""
    if not gathered:
        return ()
    most = min(map(len, gathered.values()))
    ks = sorted({most, *(2**power for power in range(most.bit_length()))})
    # Tasks with as many attempts and as many successes share their figures.
    kinds = Counter((len(found), sum([value >= SOLVED for value in found])) for found in gathered.values())
    tasks, avg = len(gathered), fmean([sum(found) / len(found) for found in gathered.values()])
    return tuple(
        SamplesSuccess(
            k,
            tasks,
            avg,
            math.fsum(times * pass_at_k(n, solved, k) for (n, solved), times in kinds.items()) / tasks,
            math.fsum(times * pass_hat_k(n, solved, k) for (n, solved), times in kinds.items()) / tasks,
        )
        for k in ks
    )


def pass_at_k(n: int, solved: int, k: int) -> float:
    """The chance that at least one of k attempts, drawn from n of which some solved the task, solved it."""
    return 1.0 - math.comb(n - solved, k) / math.comb(n, k)


def pass_hat_k(n: int, solved: int, k: int) -> float:
    """The chance that all of k attempts, drawn from n of which some solved the task, solved it."""
    return math.comb(solved, k) / math.comb(n, k)


def _mean(values: Sequence[float | None]) -> float | None:
    # Of a hundred thousand: no line of ours for each.
    return None if not values or None in values else fmean(cast(Sequence[float], values))


def split_arms(attempts: Iterable[Attempt]) -> tuple[list[Attempt], list[Attempt]]:
    """The counted clean attempts, and the counted noisy ones."""
    arms: tuple[list[Attempt], list[Attempt]] = ([], [])
    for one in attempts:
        if one.void is None and one.success is not None:
            arms[one.arm is Arm.NOISY].append(one)
    return arms
