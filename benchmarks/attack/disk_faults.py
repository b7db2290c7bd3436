"""Operations on the store's files fail while a gateway serves: traffic goes on, and nothing is lost."""

from __future__ import annotations

import asyncio
import time

import httpx

from benchmarks.attack.clients import Client, Load
from benchmarks.attack.faults import ERRORS, Control, Fault, Operation
from benchmarks.attack.ledger import Ledger, compare
from benchmarks.attack.stack import Gateway, run_gateway
from benchmarks.attack.stage import Stage
from benchmarks.attack.upstream import run_upstream

_CLIENTS = 4
_FAULTS_PER_GATEWAY = 25
_FIRES_WITHIN_S = 3.0
_RECOVERS_WITHIN_S = 30.0
_OPERATIONS = {Operation.WRITE: 5, Operation.SYNC: 4, Operation.TRUNCATE: 1}
_TIMES = (1, 1, 1, 20)
_FURTHEST = 40


async def fail_while_serving(stage: Stage, until: float) -> None:
    """One fault after the other under load; each gateway's store is read when it has ended."""
    stage.count("faults while serving", 0)
    async with run_upstream() as upstream:
        while not stage.outcome.figures["faults while serving"] or time.monotonic() < until:
            folder, ledger = stage.new_folder("serving"), Ledger()
            store, load = folder / "store.db", Load(ledger, stage.seed)
            control = Control(folder, stage.library, str(store))
            async with run_gateway(
                folder, upstream.url, store, "--profile", "noisyagent", environment=control.environment
            ) as gateway:
                await _fail_under_load(stage, gateway, load, control, until)
            if code := gateway.process.root.returncode:
                stage.report(f"the gateway ended with exit code {code}")
            stage.outcome.take(ledger)
            stage.outcome.difference.add(await asyncio.to_thread(compare, store, ledger.facts))
            stage.count("operations on files", sum(control.counted().values()))


async def _fail_under_load(
    stage: Stage, gateway: Gateway, load: Load, control: Control, until: float
) -> None:
    load.data, load.control = gateway.data, gateway.control
    talking = [asyncio.create_task(Client(load, number).talk()) for number in range(_CLIENTS)]
    try:
        for _ in range(_FAULTS_PER_GATEWAY):
            fault = _draw(stage)
            control.arm(fault)
            await _wait_until_fired(control, fault)
            if fired := control.fired:
                stage.count("faults while serving")
                stage.count(f"failed operations: {fault.operation.name.lower()} {fault.error}", fired)
            control.arm(None)
            if not await recovers(gateway, load.ledger):
                stage.report(f"{fault}: not in order after {_RECOVERS_WITHIN_S:.0f} s")
            if time.monotonic() > until:
                break
    finally:
        load.over = True
        await asyncio.gather(*talking)


def _draw(stage: Stage) -> Fault:
    draws = stage.draws
    (operation,) = draws.choices(list(_OPERATIONS), list(_OPERATIONS.values()))
    error = draws.choice(list(ERRORS)) if operation is Operation.WRITE else "EIO"
    return Fault(operation, error, draws.randint(1, _FURTHEST), draws.choice(_TIMES))


async def _wait_until_fired(control: Control, fault: Fault) -> None:
    until = time.monotonic() + _FIRES_WITHIN_S
    while control.fired < fault.times:
        if time.monotonic() > until:
            return
        await asyncio.sleep(0.01)


async def recovers(gateway: Gateway, ledger: Ledger) -> bool:
    """Whether readiness turns green again, and clients are told something new."""
    facts, until = len(ledger.facts), time.monotonic() + _RECOVERS_WITHIN_S
    async with httpx.AsyncClient(trust_env=False, timeout=_RECOVERS_WITHIN_S) as http:
        while time.monotonic() < until:
            ready = await http.get(f"http://127.0.0.1:{gateway.control}/readyz")
            if ready.status_code == 200 and len(ledger.facts) > facts:
                return True
            await asyncio.sleep(0.02)
    return False
