"""Power loss at many points of a run: what clients had been told by then is in the store that is left."""

from __future__ import annotations

import asyncio
import random
import shutil
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from benchmarks.attack.clients import Client, Load
from benchmarks.attack.disk_faults import recovers
from benchmarks.attack.faults import Control, Fault, Operation
from benchmarks.attack.journal import Disk, Marker, Record, Step, read_journal
from benchmarks.attack.ledger import Ledger, compare
from benchmarks.attack.stack import PATIENT, kill, members, run_gateway
from benchmarks.attack.stage import Stage
from benchmarks.attack.upstream import run_upstream

_CLIENTS = 6
_FACTS = 400
_LOSSES_PER_RUN = 40
_KEPT = (0.0, 0.5, 0.9)
"""The share of what wasn't synced that is there nevertheless."""
_DELETIONS = 0.3


async def lose_power(stage: Stage, until: float) -> None:
    """Runs with a journal, by turns with one process and with workers, with and without failing syncs."""
    stage.count("power losses", 0)
    run = 0
    while not run or time.monotonic() < until:
        folder = stage.new_folder("power")
        await _run(stage, folder, workers=run % 2 == 1, failing=run % 4 >= 2)
        await asyncio.to_thread(_lose_at_many_points, stage, folder, until)
        if not any(folder.glob("left-*")):
            shutil.rmtree(folder)
        run += 1
    stage.count("runs that lost power", run)


async def _run(stage: Stage, folder: Path, *, workers: bool, failing: bool) -> None:
    """Load until enough was told, and SIGKILL; what clients are told stands in the journal, too."""
    ledger, store, marker = Ledger(), folder / "store.db", Marker(folder / "journal")
    ledger.on_fact = marker.mark
    # Where syncs fail nothing is deleted, so that the store can say in the end which turns were late.
    load = Load(ledger, stage.seed, deletions=0.0 if failing else _DELETIONS)
    control = Control(folder, stage.library, str(store), journal=folder / "journal")
    options = ("--profile", "noisyagent", *(("--workers", "2") if workers else ()))
    async with run_upstream() as upstream:
        environment = {**PATIENT, **control.environment}
        async with run_gateway(folder, upstream.url, store, *options, environment=environment) as gateway:
            load.data, load.control = gateway.data, gateway.control
            talking = [asyncio.create_task(Client(load, number).talk()) for number in range(_CLIENTS)]
            while len(ledger.facts) < _FACTS:
                if failing and stage.draws.random() < 0.1:
                    control.arm(Fault(Operation.SYNC, "EIO", stage.draws.randint(1, 5)))
                await asyncio.sleep(0.05)
            control.arm(None)
            if not await recovers(gateway, ledger):
                stage.report("not in order after failed syncs")
            for pid in members(gateway.pid):
                kill(pid, signal.SIGKILL)
            load.over, load.data = True, 0
            await asyncio.gather(*talking)
    marker.close()
    stage.outcome.take(ledger)
    killed = await asyncio.to_thread(compare, store, ledger.facts)
    stage.outcome.difference.add(killed.during(f"killed in {folder}"))


def _lose_at_many_points(stage: Stage, folder: Path, until: float) -> None:
    """Half of the losses come right after a client was told something, the others anywhere."""
    records = list(read_journal(folder / "journal"))
    late = _find_late(folder / "store.db")
    seed = stage.draws.randrange(1 << 32)
    disk, draws = Disk(random.Random(seed)), random.Random(seed + 1)
    cuts = _draw_cuts(records, draws)
    for at, record in enumerate(records):
        disk.apply(record)
        if at in cuts:
            kept = draws.choice(_KEPT)
            left = folder / f"left-{at}"
            facts = [fact for fact in disk.facts if fact.name not in late]
            found = compare(disk.write_to(left, kept), facts)
            stage.outcome.difference.add(
                found.during(f"power lost at {at} of {len(records)}, {kept} kept, {folder}")
            )
            stage.count("power losses")
            if not found:
                shutil.rmtree(left)
            if time.monotonic() > until:
                break


def _find_late(store: Path) -> set[str]:
    """The turns that were released, while the store failed, before they were on disk: they are marked so."""
    query = "SELECT response_id FROM readable_turn WHERE durable <> 'yes'"
    with closing(sqlite3.connect(store)) as connection:
        return {name for (name,) in connection.execute(query)}


def _draw_cuts(records: list[Record], draws: random.Random) -> set[int]:
    told = [at for at, record in enumerate(records) if record.step is Step.MARK]
    half = _LOSSES_PER_RUN // 2
    return {
        *draws.sample(told, min(half, len(told))),
        *draws.sample(range(len(records)), min(half, len(records))),
    }
