"""Plays a benchmark through the gateway and gathers its figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from crosswind.gateway.client import Client
from crosswind.simulators.benchmark import results
from crosswind.simulators.environment import Environment
from crosswind.simulators.episodes.campaign import campaign, run_loop, say
from crosswind.simulators.episodes.record import Job, Record
from crosswind.simulators.episodes.tally import Tally


@dataclass(frozen=True, slots=True)
class Bench:
    """A benchmark's figures per arm, and the policy version that gave the last answer."""

    arms: Mapping[str, Mapping[str, Any]]
    policy_version: str | None


def play(environment: Environment, todo: Sequence[Job], given: Mapping[str, Any]) -> tuple[int, Bench]:
    """Play the jobs; the exit code and the figures. A run that was stopped has none."""
    records: list[Record] = []
    tally = Tally()

    def on_record(record: Record) -> None:
        records.append(record)
        tally.add(record)

    def progress(event: str) -> None:
        say(tally, event, as_json=given["json_progress"])

    code = run_loop(campaign(environment, iter(todo), given, on_record=on_record, progress=progress))
    if code == 0 and len(records) < len(todo):
        click.echo(f"stopped after {len(records)} of {len(todo)} episodes: no figures", err=True)
        code = 1
    version = _policy_version(given["control"], records) if code == 0 else None
    return code, Bench(results.arms(records), version)


def _policy_version(control: str, records: list[Record]) -> str | None:
    """The version of the last turn of the last episode, as the gateway recorded it."""
    played = [record.session_id for record in records if record.session_id and record.verdict]
    if not played:
        return None
    with Client(control) as client:
        trajectory = client.trajectory(played[-1])
    turns = trajectory.get("turns") or []
    return turns[-1].get("policy_last") if turns else None
