"""SIGKILL at seeded moments, under load, of every process: the store is held against the ledger."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx

from benchmarks.attack.clients import Client, Load
from benchmarks.attack.ledger import Ledger, compare
from benchmarks.attack.report import Outcome
from benchmarks.attack.stack import (
    PATIENT,
    Gateway,
    find_tracebacks,
    kill,
    members,
    run_gateway,
    wait_until_gone,
)
from benchmarks.attack.upstream import run_upstream
from benchmarks.processes import DidNotStart

TARGETS = {"one process": 6, "supervisor": 4, "group": 2, "worker": 6, "control plane": 4, "starting": 2}
"""How often each is killed, in proportion."""
_CLIENTS = 8
_MOST_FACTS = 30
"""A kill comes after so many facts at most, and `_LATEST_S` more."""
_LATEST_S = 0.05
_KILLS_PER_GATEWAY = 8
"""Of workers and control planes, which the supervisor starts again."""
_KILLS_PER_STORE = 25
_START_S = 2.0
_GONE_S = 20.0
_BACK_S = 60.0


async def attack(folder: Path, kills: int, seed: int, targets: dict[str, int] = TARGETS) -> Outcome:
    """Kill `kills` times. A store goes from gateway to gateway, and what is left of it is read each time."""
    outcome, begun = Outcome("kills"), time.monotonic()
    by_target: Counter[str] = Counter()
    async with run_upstream() as upstream:
        for target, share in targets.items():
            wanted = max(1, round(kills * share / sum(targets.values())))
            while (left := wanted - by_target[target]) > 0:
                place = folder / f"{target.replace(' ', '-')}-{by_target[target]}"
                one = _Campaign(place, target, min(left, _KILLS_PER_STORE), seed, upstream.url, outcome)
                by_target[target] += await one.run()
    outcome.tries += sum(by_target.values())
    outcome.seconds += time.monotonic() - begun
    outcome.figures |= {f"kills of {target}": count for target, count in by_target.items()}
    return outcome


class _Campaign:
    """Kills of one target, on one store."""

    def __init__(
        self, folder: Path, target: str, kills: int, seed: int, upstream: str, outcome: Outcome
    ) -> None:
        self._folder = folder
        self._target = target
        self._left = kills
        self._kills = kills
        self._random = random.Random(f"{seed}-{folder.name}")
        self._upstream = upstream
        self._outcome = outcome
        self._ledger = Ledger()
        self._load = Load(self._ledger, seed)
        self._store = folder / "store.db"

    async def run(self) -> int:
        self._folder.mkdir(parents=True)
        talking = [asyncio.create_task(Client(self._load, number).talk()) for number in range(_CLIENTS)]
        try:
            while self._left:
                await (self._kill_starting() if self._target == "starting" else self._kill_serving())
                # Checked as the dead left it, before anything starts on it again.
                if self._store.exists():
                    self._outcome.difference.add(
                        await asyncio.to_thread(compare, self._store, self._ledger.facts)
                    )
        finally:
            self._load.over = True
            await asyncio.gather(*talking)
        self._outcome.problems += await asyncio.to_thread(find_tracebacks, self._folder)
        self._outcome.take(self._ledger)
        return self._kills

    async def _kill_starting(self) -> None:
        """Kill while the gateway starts; the next one must start on what is left."""
        self._left -= 1
        starting = asyncio.create_task(self._start_and_wait())
        await asyncio.sleep(self._random.uniform(0, _START_S))
        for pid in _session_leaders(os.getpid(), str(self._store)):
            os.killpg(pid, signal.SIGKILL)
        await starting
        if self._left % 5 == 0:
            async with self._serving():
                await self._wait_for_facts()

    async def _start_and_wait(self) -> None:
        try:
            async with run_gateway(self._folder, self._upstream, self._store, environment=PATIENT):
                await asyncio.sleep(_START_S)
        except DidNotStart:
            pass

    async def _kill_serving(self) -> None:
        """One gateway under load, until it is killed or, where it goes on, was robbed of enough processes."""
        workers = () if self._target == "one process" else ("--workers", "2")
        async with self._serving(*workers) as gateway:
            for _ in range(_KILLS_PER_GATEWAY if self._target in {"worker", "control plane"} else 1):
                await self._wait_for_facts()
                await self._kill(gateway)
                self._left -= 1
                if not self._left:
                    break
            self._load.data = 0
        if left := await wait_until_gone(gateway.pid, _GONE_S):
            self._outcome.problems.append(f"{len(left)} processes outlived the kill of the {self._target}")
            for pid in left:
                kill(pid, signal.SIGKILL)

    @asynccontextmanager
    async def _serving(self, *options: str) -> AsyncIterator[Gateway]:
        async with run_gateway(
            self._folder,
            self._upstream,
            self._store,
            "--profile",
            "noisyagent",
            *options,
            environment=PATIENT,
        ) as gateway:
            self._load.data, self._load.control = gateway.data, gateway.control
            try:
                yield gateway
            finally:
                self._load.data = self._load.control = 0

    async def _wait_for_facts(self) -> None:
        """Wait until clients were told some more, then a moment longer."""
        wanted = len(self._ledger.facts) + self._random.randint(1, _MOST_FACTS)
        until = time.monotonic() + _BACK_S
        while len(self._ledger.facts) < wanted:
            if time.monotonic() > until:
                self._outcome.problems.append(f"{self._target}: nobody was told anything for {_BACK_S:.0f} s")
                return
            await asyncio.sleep(0.002)
        await asyncio.sleep(self._random.uniform(0, _LATEST_S))

    async def _kill(self, gateway: Gateway) -> None:
        match self._target:
            case "worker":
                pids = [self._random.choice(await gateway.workers())]
            case "control plane":
                pids = [await gateway.control_process()]
            case "group":
                pids = members(gateway.pid)
            case _:
                pids = [gateway.pid]
        for pid in pids:
            kill(pid, signal.SIGKILL)
        if self._target in {"worker", "control plane"}:
            await self._wait_until_back(gateway, pids[0])

    async def _wait_until_back(self, gateway: Gateway, dead: int) -> None:
        """Wait until every process is in service again."""
        until = time.monotonic() + _BACK_S
        async with httpx.AsyncClient(trust_env=False, timeout=10) as http:
            while time.monotonic() < until:
                try:
                    ready = (await http.get(f"http://127.0.0.1:{gateway.control}/readyz")).json()
                except httpx.TransportError:
                    ready = {}
                pids = [worker["pid"] for worker in ready.get("workers", ())]
                if ready.get("status") == "ok" and dead not in pids:
                    return
                await asyncio.sleep(0.05)
        self._outcome.problems.append(f"the {self._target} did not come back within {_BACK_S:.0f} s")


def _session_leaders(parent: int, mark: str) -> list[int]:
    """The children of this process that lead a session and have this text in their command line."""
    found = []
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                stat = (path / "stat").read_text().rpartition(")")[2].split()
                command = (path / "cmdline").read_text()
            except OSError:
                continue
            if int(stat[1]) == parent and stat[3] == path.name and mark in command:
                found.append(int(path.name))
    return found
