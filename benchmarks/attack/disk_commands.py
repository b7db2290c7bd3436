"""The n-th operation on files fails in a start and in each command that keeps a store: nothing is lost."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from benchmarks.attack.clients import Client, Load
from benchmarks.attack.faults import ERRORS, Control, Fault, Operation
from benchmarks.attack.ledger import Difference, Fact, Kind, Ledger, compare
from benchmarks.attack.stack import COMMAND, run_gateway
from benchmarks.attack.stage import Stage
from benchmarks.attack.upstream import run_upstream
from benchmarks.processes import DidNotStart

COMMANDS = {
    "start": (),
    "backup": ("backup", "--out", "{folder}/backup.db"),
    "prune": ("prune", "--larger-than", "1", "--all"),
    "compact": ("migrate", "--compact"),
    "delete": ("delete", "--session", "{session}"),
    "verify": ("verify",),
}
_FACTS = 150
_CLIENTS = 4
_MOST = 40
"""Operations of a kind in one command; later ones are like these."""
_EXIT_CODES = {0, 1, 2}
_WITHIN_S = 120.0


async def fail_commands(stage: Stage, until: float) -> None:
    """Cases in a random order, since there are more than there is time for; those that never came to be are
    not counted."""
    stage.count("faults in commands", 0)
    original, facts = await _make_store(stage)
    cases = list(_cases())
    stage.draws.shuffle(cases)
    for name, fault in cases:
        if time.monotonic() > until and stage.outcome.figures["faults in commands"]:
            break
        folder = stage.new_folder("command")
        shutil.copy(original, folder / "store.db")
        control = Control(folder, stage.library, f"{folder}/")
        control.arm(fault)
        if name == "start":
            found = await _start(stage, folder, control, fault, facts)
        else:
            found = await asyncio.to_thread(_run, stage, name, folder, control, fault, facts)
        stage.outcome.difference.add(found.during(f"{name}, {fault}"))
        if control.fired:
            stage.count("faults in commands")
            stage.count(f"faults in commands: {name}")
        if not found:
            shutil.rmtree(folder)


def _cases() -> Iterator[tuple[str, Fault]]:
    for name, operation, error in product(COMMANDS, Operation, ERRORS):
        if operation and (error == "EIO" or operation is Operation.WRITE):
            last = _MOST if operation in {Operation.WRITE, Operation.SYNC} else 6
            for number in range(1, last + 1):
                yield name, Fault(operation, error, number)


async def _make_store(stage: Stage) -> tuple[Path, list[Fact]]:
    """A store with some sessions, and what clients were told of it."""
    folder, ledger = stage.new_folder("original"), Ledger()
    load = Load(ledger, stage.seed)
    async with run_upstream() as upstream, run_gateway(folder, upstream.url, folder / "store.db") as gateway:
        load.data, load.control = gateway.data, gateway.control
        talking = [asyncio.create_task(Client(load, number).talk()) for number in range(_CLIENTS)]
        while len(ledger.facts) < _FACTS:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        load.over = True
        await asyncio.gather(*talking)
    return folder / "store.db", ledger.facts


async def _start(stage: Stage, folder: Path, control: Control, fault: Fault, facts: list[Fact]) -> Difference:
    """The gateway may refuse to start, with a message; without the fault it starts."""
    store = folder / "store.db"
    async with run_upstream() as upstream:
        try:
            async with run_gateway(folder, upstream.url, store, environment=control.environment):
                pass
        except DidNotStart as refused:
            if "it ended with 2" not in str(refused):
                stage.report(f"start, {fault}: {refused}")
        control.arm(None)
        async with run_gateway(folder, upstream.url, store):
            pass
    return await asyncio.to_thread(compare, store, facts)


def _run(
    stage: Stage, name: str, folder: Path, control: Control, fault: Fault, facts: list[Fact]
) -> Difference:
    """Run a command of the store under the fault; what it was not to delete is there afterwards."""
    session = next(fact.session for fact in facts if fact.kind is Kind.CLOSED)
    arguments = [one.format(folder=folder, session=session) for one in COMMANDS[name]]
    store, backup = folder / "store.db", folder / "backup.db"
    done = subprocess.run(
        [*COMMAND, "store", *arguments, "--store", f"sqlite:///{store}"],
        env={**os.environ, **control.environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=_WITHIN_S,
    )
    said = (done.stdout + done.stderr).strip()
    if "Traceback" in said or done.returncode not in _EXIT_CODES:
        stage.report(f"{name}, {fault}: exit code {done.returncode}: {said.splitlines()[-1:]}")
    if name == "verify" and done.returncode == 1 and not control.fired:
        stage.report(f"verify: {said}")
    if name == "prune":
        facts = []
    if name == "delete":
        facts = [*facts, Fact(Kind.DELETING, session)]
    found = compare(store, facts)
    if backup.exists():
        found.add(compare(backup, facts))
    elif name == "backup" and not done.returncode:
        found.lost.append("the backup")
    return found
