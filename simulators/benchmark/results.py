"""Play a benchmark through the gateway and gather its figures, as its JSON file has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

import click
import msgspec

from crosswind.figures.attempts import Arm, Attempt
from crosswind.figures.intervals import wilson
from crosswind.figures.paired import mean_by_key, measure_cost
from crosswind.figures.success import measure_success, success_by_task
from crosswind.gateway.client import Client
from crosswind.simulators.benchmark.suites import CLEAN, NOISY
from crosswind.simulators.environment import Environment, Verdict
from crosswind.simulators.episodes.campaign import CampaignSettings, play_campaign, run_loop
from crosswind.simulators.episodes.record import Job, ProgressTally, Record


@dataclass(frozen=True, slots=True)
class BenchmarkRun:
    """A benchmark's figures per arm, and the policy version that gave the last answer."""

    arms: Mapping[str, Mapping[str, Any]]
    policy_version: str | None


def play_benchmark(
    environment: Environment, todo: Sequence[Job], settings: CampaignSettings
) -> tuple[int, BenchmarkRun]:
    """Play the jobs. Returns the exit code and the figures; a run that was stopped has none."""
    records: list[Record] = []
    tally = ProgressTally()

    def add(record: Record) -> None:
        records.append(record)
        tally.add(record)

    counting = replace(settings, count_noise=True)
    code = run_loop(play_campaign(environment, iter(todo), counting, tally, add))
    if code == 0 and len(records) < len(todo):
        click.echo(f"crosswind: stopped after {len(records)} of {len(todo)} episodes: no figures", err=True)
        code = 1
    version = _read_policy_version(settings.control, records) if code == 0 else None
    return code, BenchmarkRun(arms(records), version)


def _read_policy_version(control: str, records: list[Record]) -> str | None:
    """The version of the last turn of the last episode, as the gateway recorded it."""
    played = [record.session_id for record in records if record.session_id and record.verdict]
    if not played:
        return None
    with Client(control) as client:
        turns = client.trajectory(played[-1]).get("turns")
    return turns[-1].get("policy_last") if turns else None


def arms(records: Sequence[Record]) -> dict[str, dict[str, Any]]:
    """Figures per arm: clean, each noise type or profile, and all noisy episodes together (if any)."""
    gathered: dict[str, list[Record]] = {}
    for record in records:
        name = arm_name(record)
        gathered.setdefault(name, []).append(record)
        if name != CLEAN:
            gathered.setdefault(NOISY, []).append(record)
    order = sorted(gathered, key=lambda name: (name != CLEAN, name == NOISY, name))
    found = {name: _arm(name, gathered[name]) for name in order}
    for name in found.keys() - {CLEAN} if CLEAN in found else ():
        exposed = mean_by_key([(one.job.task.id, _exposed(one)) for one in gathered[name] if one.verdict])
        cost = measure_cost(found[CLEAN]["by_task"], found[name]["by_task"], exposed)
        found[name]["cost"] = None if cost is None else msgspec.structs.asdict(cost)
    return found


def arm_name(record: Record) -> str:
    """`clean`, or the noise type or the whole profile that the episode was played under."""
    session = record.job.session
    if session["arm"] == CLEAN:
        return CLEAN
    return str(session.get("noise_type", session.get("profile", NOISY)))


def _arm(name: str, records: Sequence[Record]) -> dict[str, Any]:
    """An arm's figures. A noisy one that met no noise has no success: it would be the clean one's."""
    good = [(record, record.verdict) for record in records if record.verdict is not None]
    doses = _add_doses([record for record, _ in good])
    sums = {what: _sum([one[what] for one in doses.values()]) for what in _COUNTS}
    counted = any(record.dose is not None for record, _ in good)
    asleep = name != CLEAN and counted and sums["injected"] == 0
    attempts = [] if asleep else [_attempt(record, verdict) for record, verdict in good]
    found = measure_success(attempts)
    low, high = wilson(found.success or 0.0, found.tasks)
    return {
        "n": len(good),
        "success": None if asleep else found.success or 0.0,
        "low": None if asleep else low,
        "high": None if asleep else high,
        "at_k": [msgspec.structs.asdict(one) for one in found.samples],
        "assigned": sum(record.dose is not None and record.dose["arm"] != CLEAN for record, _ in good),
        **sums,
        "exposed": sum(_exposed(record) > 0 for record, _ in good),
        "operators": doses,
        "tool_calls": _mean([record.played.tool_calls for record, _ in good]),
        "output_tokens": _mean([record.played.output_tokens for record, _ in good]),
        "turns": _mean([record.played.turns for record, _ in good]),
        "not_executed": _mean([verdict.components.get("not_executed", 0.0) for _, verdict in good]),
        "errors": len(records) - len(good),
        "by_kind": {}
        if asleep
        else mean_by_key([(record.job.task.kind, verdict.reward) for record, verdict in good]),
        "by_task": dict(sorted(success_by_task(attempts).items())),
    }


def _attempt(record: Record, verdict: Verdict) -> Attempt:
    """The episode as figures take it."""
    session = record.job.session
    arm = Arm.CLEAN if session["arm"] == CLEAN else Arm.NOISY
    sample = session.get("rollout_index", 0)
    return Attempt(task=record.job.task.id, sample=sample, arm=arm, success=verdict.reward)


_COUNTS = ("eligible", "decided", "injected", "withheld")
"""What is counted of an operator besides sessions, in the gateway's words."""


def _exposed(record: Record) -> float:
    """1 where the session met noise of its type."""
    return float(record.dose is not None and record.dose["exposure"] == "exposed")


def _add_doses(records: Sequence[Record]) -> dict[str, dict[str, int | None]]:
    """The sums of the sessions' doses, by operator."""
    found: dict[str, list[Mapping[str, int | None]]] = {}
    for record in records:
        for name, dose in (record.dose or {}).get("operators", {}).items():
            found.setdefault(name, []).append(dose)
    return {
        name: {what: _sum([one[what] for one in found[name]]) for what in ("assigned", *_COUNTS, "exposed")}
        for name in sorted(found)
    }


def _sum(counts: Sequence[int | None]) -> int | None:
    """None where one of them isn't known."""
    return None if None in counts else sum(count or 0 for count in counts)


def _mean(values: Sequence[float]) -> float:
    return fmean(values) if values else 0.0
