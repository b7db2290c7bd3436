"""A loop of training that runs: gateway, embedded engine and trainer as processes of their own.

The trainer and the engine are started again when they have ended, as an operator would.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import httpx

from benchmarks.attack.report import Outcome
from benchmarks.attack.stack import COMMAND, Gateway, kill
from benchmarks.attack.swap_relay import SwapRelay
from crosswind.policies.versions.version import (
    PRETRAINED,
    Registry,
    VersionError,
    checksum,
    read_version,
    verify,
)

POLICY = "retail"
GROUP = 4
RUN = "run"
_NEXT_STEP_S = 300.0
_BACK_S = 120.0
_ENDS_S = 60.0
_POLL_S = 0.02
_TRAINER = (
    *("train", "run", "--preset", "demo", "--steps", "1000000", "--groups-per-step", "1"),
    *("--group-size", str(GROUP), "--set", "staleness=1000000", "--set", "keep_versions=1000000"),
    *("--set", "poll_seconds=0.05", "--start-within", str(_BACK_S), "--json-progress"),
)


class TrainLoop:
    """The loop's processes, and what the trainer says."""

    def __init__(
        self, folder: Path, engine_port: int, relay: SwapRelay, gateway: Gateway, outcome: Outcome
    ) -> None:
        self.told: list[int] = []
        """The steps that the trainer said it took."""
        self.resumed = 0
        """How often a trainer went on from a checkpoint."""
        self.relay = relay
        self.gateway = gateway
        self.registry = Registry(folder / "train" / "versions")
        self._folder = folder
        self._outcome = outcome
        self._engine = f"http://127.0.0.1:{engine_port}"
        self._commands = {
            "engine": ("policy", "serve", POLICY, "--embedded", "--port", str(engine_port)),
            "trainer": (
                *(*_TRAINER, "--policy", POLICY, "--engine", f"http://127.0.0.1:{relay.port}"),
                *("--control", f"http://127.0.0.1:{gateway.control}", "--run", RUN),
                *("--store", f"sqlite:///{folder}/store.db", "--out", str(folder / "train")),
            ),
        }
        self._children: dict[str, asyncio.subprocess.Process] = {}
        self._readers: list[asyncio.Task[None]] = []
        self._left_dead: set[str] = set()
        self._keeping: asyncio.Task[None] | None = None

    async def start_all(self) -> None:
        """Start the engine and the trainer, and from now on again whenever they have ended."""
        for name in self._commands:
            await self._start(name)
        self._keeping = asyncio.create_task(self._keep())

    async def _keep(self) -> None:
        """A trainer whose engine died ends, with a message."""
        while True:
            for name, child in list(self._children.items()):
                if child.returncode is not None and name not in self._left_dead:
                    await self._start(name)
            await asyncio.sleep(_POLL_S)

    async def _start(self, name: str, *, dies_in_a_swap: bool = False) -> None:
        command = (sys.executable, "-m", "benchmarks.attack.dying") if dies_in_a_swap else COMMAND
        # Named as gateways' logs are, so that tracebacks are looked for.
        with (self._folder / f"gateway-{name}.log").open("ab") as log:
            child = await asyncio.create_subprocess_exec(
                *(*command, *self._commands[name]),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                env={**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"},
                limit=1 << 24,
            )
        self._children[name] = child
        self._readers.append(asyncio.create_task(self._read(name, child)))

    async def _read(self, name: str, child: asyncio.subprocess.Process) -> None:
        """Note the trainer's steps, and where it goes on from; drop what the engine says."""
        assert child.stdout is not None
        expected = None
        async for line in child.stdout:
            if name != "trainer" or b'"step":' not in line:
                continue
            said = json.loads(line)
            if said["event"] == "step":
                if said["step"] != (expected or said["step"]):
                    self._outcome.problems.append(f"step {said['step']} came where {expected} was due")
                self.told.append(said["step"])
                expected = said["step"] + 1
            elif said["message"].startswith("resumed"):
                self.resumed += 1
                expected = said["step"] + 1
                if said["step"] < max(self.told, default=0):
                    self._outcome.problems.append(f"resumed after step {said['step']}, told {self.told[-1]}")

    async def kill_engine_half_way(self) -> None:
        """Start an engine that kills itself in its first exchange of weights, and wait for that."""
        self._left_dead.add("engine")
        await self._stop("engine")
        await self._start("engine", dies_in_a_swap=True)
        child = self._children["engine"]
        if not await _wait_until(lambda: child.returncode is not None, _NEXT_STEP_S):
            self._outcome.problems.append("the engine never came to an exchange of weights")
        elif child.returncode != -signal.SIGKILL:
            self._outcome.problems.append(f"the engine ended with {child.returncode} before it killed itself")
        self._left_dead.clear()

    async def kill(self, victim: str, choose: Callable[[list[int]], int]) -> None:
        """SIGKILL one process. The supervisor starts those of the gateway again, this loop the others."""
        match victim:
            case "worker":
                pid = choose(await self.gateway.workers())
            case "control process":
                pid = await self.gateway.control_process()
            case _:
                child = self._children[victim]
                with suppress(ProcessLookupError):
                    child.kill()
                await child.wait()
                return
        kill(pid, signal.SIGKILL)
        await self._wait_until_back(pid)

    async def _wait_until_back(self, dead: int) -> None:
        """Wait until the gateway has all its processes in service again."""
        until = time.monotonic() + _BACK_S
        while time.monotonic() < until:
            with suppress(httpx.HTTPError, ValueError):
                if await self.gateway.is_whole() and dead not in [
                    *await self.gateway.workers(),
                    await self.gateway.control_process(),
                ]:
                    return
            await asyncio.sleep(_POLL_S)
        self._outcome.problems.append(f"a process of the gateway did not come back within {_BACK_S:.0f} s")

    async def wait_for_a_step(self, after: str) -> None:
        steps = len(self.told)
        if not await _wait_until(lambda: len(self.told) > steps, _NEXT_STEP_S):
            self._outcome.problems.append(f"{after}: no step within {_NEXT_STEP_S:.0f} s")

    async def check_served(self, after: str) -> None:
        """The engine must serve a version that is whole on disk: the first one, or one of the run."""
        async with httpx.AsyncClient(trust_env=False, timeout=60) as http:
            served = (await http.get(f"{self._engine}/policy")).json()
        if trouble := await asyncio.to_thread(self.find_trouble, served["version"], served["checksum"]):
            self._outcome.problems.append(f"{after}: {trouble}")

    def find_trouble(self, name: str, served: str | None = None) -> str | None:
        """What is wrong with a version's files; None where they are whole, and those that are served."""
        try:
            version = read_version(PRETRAINED / POLICY)
            if version.version != name:
                version = self.registry.get(name)
            verify(version)
        except VersionError as error:
            return str(error)
        if served is not None and served != checksum(version.path):
            return f"the engine serves other weights as {name!r}"
        return None

    async def _stop(self, name: str) -> None:
        child = self._children.get(name)
        if child is not None and child.returncode is None:
            child.terminate()
            if not await _wait_until(lambda: child.returncode is not None, _ENDS_S):
                self._outcome.problems.append(f"{name}: did not end within {_ENDS_S:.0f} s of SIGTERM")
                child.kill()
            await child.wait()

    async def stop_all(self) -> None:
        if self._keeping is not None:
            self._keeping.cancel()
        for name in ("trainer", "engine"):
            await self._stop(name)
        await asyncio.gather(*self._readers)


async def _wait_until(condition: Callable[[], bool], within_s: float) -> bool:
    until = time.monotonic() + within_s
    while not condition() and time.monotonic() < until:  # noqa: ASYNC110
        await asyncio.sleep(_POLL_S)
    return condition()
