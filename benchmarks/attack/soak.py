"""A long run at full speed, with noise, rewards, closes, deletions and retention: nothing may grow."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import click

from benchmarks.attack.clients import Client, Load
from benchmarks.attack.ledger import Kind, Ledger, compare
from benchmarks.attack.report import Outcome
from benchmarks.attack.stack import PATIENT, Gateway, find_tracebacks, run_gateway
from benchmarks.attack.upstream import run_upstream

_CLIENTS = 16
_SAMPLES = 40
_AGE_S = 20
"""Closed and rewarded sessions are deleted when they are so old: the store levels off."""
_SETTINGS = {
    "CROSSWIND_RETENTION__AGE": f"{_AGE_S}s",
    "CROSSWIND_RETENTION__EVERY": "5s",
    "CROSSWIND_LIMITS__LIVE_SESSIONS": "100",
}
"""Few live sessions, so that the run is long beside what is kept in memory on purpose."""
_MOST_GROWTH = 0.05
_LEAST = {"memory_mb": 16.0, "descriptors": 8.0, "wal_mb": 32.0, "store_mb": 16.0}
"""What a figure may grow by in any case: what is measured in a short run."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A gateway at one moment."""

    memory_mb: float
    descriptors: int
    wal_mb: float
    store_mb: float

    @classmethod
    def take(cls, gateway: Gateway, store: Path) -> Sample:
        descriptors = len(list(Path(f"/proc/{gateway.pid}/fd").iterdir()))
        return cls(gateway.process.rss_mb(), descriptors, _size(Path(f"{store}-wal")), _size(store))


def _say(turns: int, sample: Sample) -> None:
    """A long run tells of each sample, since it may be ended before its table."""
    figures = " ".join(f"{one.name} {getattr(sample, one.name):.0f}" for one in fields(sample))
    click.echo(f"soak: {turns} turns: {figures}", err=True)


def _size(path: Path) -> float:
    """In MB; 0 where there is no such file."""
    return path.stat().st_size / 1e6 if path.exists() else 0.0


def growth(values: Sequence[float]) -> float:
    """By how much a straight line through the values rises from the first to the last."""
    if len(values) < 2:
        return 0.0
    return statistics.linear_regression(range(len(values)), values).slope * (len(values) - 1)


async def attack(folder: Path, turns: int, seed: int) -> Outcome:
    """So many turns at least; the second half is looked at for growth."""
    outcome, ledger, begun = Outcome("soak"), Ledger(), time.monotonic()
    store, last_told = folder / "store.db", dict[str, float]()
    ledger.on_fact = lambda fact: last_told.update({fact.session: time.monotonic()})
    load, samples = Load(ledger, seed), list[Sample]()
    async with run_upstream() as upstream:
        environment = {**PATIENT, **_SETTINGS}
        async with run_gateway(
            folder, upstream.url, store, "--profile", "noisyagent", environment=environment
        ) as gateway:
            load.data, load.control = gateway.data, gateway.control
            talking = [asyncio.create_task(Client(load, number).talk()) for number in range(_CLIENTS)]
            for number in range(1, _SAMPLES + 1):
                while upstream.requests < turns * number / _SAMPLES:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
                samples.append(await asyncio.to_thread(Sample.take, gateway, store))
                if number % 2 == 0:
                    _say(upstream.requests, samples[-1])
            load.over = True
            await asyncio.gather(*talking)
    ended = time.monotonic()
    closed = {fact.session for fact in ledger.facts if fact.kind is Kind.CLOSED}
    expired = [one for one, at in last_told.items() if one in closed and at < ended - _AGE_S]
    outcome.difference = await asyncio.to_thread(compare, store, ledger.facts, expired)
    outcome.take(ledger)
    outcome.tries, outcome.seconds = outcome.told[Kind.TURN], ended - begun
    outcome.figures["turns per second"] = round(outcome.tries / outcome.seconds, 1)
    outcome.figures["sessions that retention may delete"] = len(expired)
    outcome.problems += await asyncio.to_thread(find_tracebacks, folder)
    _judge(outcome, samples)
    return outcome


def _judge(outcome: Outcome, samples: list[Sample]) -> None:
    """Whether each figure is flat over the second half."""
    for one in fields(Sample):
        values = [float(getattr(sample, one.name)) for sample in samples]
        later = values[len(values) // 2 :]
        outcome.series[one.name] = values
        grown, most = growth(later), max(_LEAST[one.name], _MOST_GROWTH * statistics.mean(later))
        outcome.figures[one.name] = (
            f"{' '.join(f'{value:.0f}' for value in values[::4])}; +{grown:.1f} at last"
        )
        if grown > most:
            outcome.problems.append(
                f"{one.name} grew by {grown:.1f} in the second half, more than {most:.1f}"
            )
