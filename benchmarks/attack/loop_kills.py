"""SIGKILL of the trainer and of the embedded engine, also in the middle of a swap, while the whole loop runs.

The engine serves, rollouts go through the gateway, the trainer learns from them and swaps its versions in.
After each kill whoever died is started again, and the trainer must take another step.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from itertools import cycle, islice
from pathlib import Path

from benchmarks.attack.dying import POINTS
from benchmarks.attack.ledger import Difference, compare
from benchmarks.attack.report import Outcome
from benchmarks.attack.stack import COMMAND, PATIENT, find_tracebacks, run_gateway
from crosswind.studies.stack import free_port

_ORDER = (
    *("engine in a swap", "trainer in a swap", "engine anywhere", "trainer anywhere"),
    *("engine in a swap", "trainer before a swap", "trainer after a swap", "trainer anywhere"),
)
"""Those "anywhere" are killed from outside at a drawn moment; the others kill themselves at a point."""
_POLICY = "retail"
_NEXT_STEP_S = 300.0
_DIES_S = 240.0
_MOMENT_S = 20.0
_POLL_S = 0.05
_TRAINER = (
    *(
        "train",
        "run",
        "--preset",
        "demo",
        "--steps",
        "1000000",
        "--groups-per-step",
        "1",
        "--group-size",
        "4",
    ),
    *("--set", "staleness=50", "--json-progress"),
)
_ROLLOUTS = ("rollout", "run", "--group-size", "4", "--concurrency", "8", "--max-turns", "4")


async def attack(folder: Path, kills: int, seed: int) -> Outcome:
    """Kill the trainer and the engine `kills` times in all."""
    outcome, begun, draws = Outcome("loop"), time.monotonic(), random.Random(seed)
    engine_port = free_port()
    async with run_gateway(
        *(folder, f"http://127.0.0.1:{engine_port}/v1", folder / "store.db", "--profile", "noisyagent"),
        *("--capture", "on"),
        environment=PATIENT,
    ) as gateway:
        loop = _Loop(folder, engine_port, gateway.control, outcome)
        try:
            await loop.start_all()
            for point in islice(cycle(_ORDER), kills):
                await loop.kill(point, draws)
                outcome.tries += 1
                outcome.figures[point] = outcome.figures.get(point, 0) + 1
        finally:
            await loop.stop_all()
    outcome.seconds = time.monotonic() - begun
    outcome.told = {"steps": len(loop.told)}
    outcome.difference = await asyncio.to_thread(_compare_steps, folder / "store.db", loop.told)
    outcome.problems += await asyncio.to_thread(find_tracebacks, folder)
    return outcome


class _Loop:
    """The engine, the rollouts and the trainer, each a child that is started again when it has died."""

    def __init__(self, folder: Path, engine_port: int, control_port: int, outcome: Outcome) -> None:
        self.told: list[int] = []
        """The steps that the trainer said it took."""
        self._folder = folder
        self._outcome = outcome
        self._engine = ("policy", "serve", _POLICY, "--embedded", "--port", str(engine_port))
        control = ("--control", f"http://127.0.0.1:{control_port}")
        self._rollouts = (*_ROLLOUTS, *control)
        self._trainer = (
            *(*_TRAINER, *control, "--engine", f"http://127.0.0.1:{engine_port}", "--policy", _POLICY),
            *("--store", f"sqlite:///{folder}/store.db", "--out", str(folder / "train"), "--run", "run"),
        )
        self._children: dict[str, asyncio.subprocess.Process] = {}
        self._readers: list[asyncio.Task[None]] = []

    async def start_all(self) -> None:
        await self._start("engine")
        await self._start("trainer")
        await self._start("rollouts")
        await self._wait_for_a_step("the start")

    async def kill(self, point: str, draws: random.Random) -> None:
        """Kill one of them, at a point or at any moment, and see that the loop goes on."""
        name = point.partition(" ")[0]
        if point in POINTS:
            await self._stop(name)
            await self._start(name, point, draws.choice((1, 2)))
            died = await self._wait_until(lambda: self._children[name].returncode is not None, _DIES_S)
            if not died or self._children[name].returncode != -signal.SIGKILL:
                self._outcome.problems.append(f"{point}: it never came to that, or it ended before")
        else:
            await asyncio.sleep(draws.uniform(0, _MOMENT_S))
            with suppress(ProcessLookupError):
                self._children[name].kill()
            await self._children[name].wait()
        await self._start(name)
        await self._wait_for_a_step(point)

    async def _wait_for_a_step(self, after: str) -> None:
        """A trainer whose engine died may end, with a message; it is started again, as an operator would."""
        steps, until = len(self.told), time.monotonic() + _NEXT_STEP_S
        while time.monotonic() < until:
            if len(self.told) > steps:
                return
            for name, child in list(self._children.items()):
                if child.returncode is not None:
                    await self._start(name)
            await asyncio.sleep(0.1)
        self._outcome.problems.append(f"{after}: no step within {_NEXT_STEP_S:.0f} s")

    async def _start(self, name: str, point: str = "", number: int = 0) -> None:
        arguments = {"engine": self._engine, "trainer": self._trainer, "rollouts": self._rollouts}[name]
        command = (*COMMAND, *arguments)
        if point:
            command = (sys.executable, "-m", "benchmarks.attack.dying", point, str(number), *arguments)
        # Named as gateways' logs are, so that tracebacks are looked for.
        with (self._folder / f"gateway-{name}.log").open("ab") as log:
            child = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                env={**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"},
                limit=1 << 24,
            )
        self._children[name] = child
        self._readers.append(asyncio.create_task(self._read(name, child)))

    async def _read(self, name: str, child: asyncio.subprocess.Process) -> None:
        """Note the trainer's steps; drop what the others say."""
        assert child.stdout is not None
        async for line in child.stdout:
            if name == "trainer":
                said = json.loads(line)
                if said.get("event") == "step":
                    self.told.append(said["step"])

    async def _stop(self, name: str) -> None:
        child = self._children[name]
        if child.returncode is None:
            child.terminate()
            if not await self._wait_until(lambda: child.returncode is not None, _DIES_S):
                self._outcome.problems.append(f"{name}: did not end within {_DIES_S:.0f} s of SIGTERM")
                child.kill()
        await child.wait()

    async def stop_all(self) -> None:
        for child in self._children.values():
            with suppress(ProcessLookupError):
                child.terminate()
        for name in self._children:
            await self._stop(name)
        await asyncio.gather(*self._readers)

    @staticmethod
    async def _wait_until(condition: Callable[[], bool], within_s: float) -> bool:
        for _ in range(int(within_s / _POLL_S)):
            if condition():
                break
            await asyncio.sleep(_POLL_S)
        return condition()


def _compare_steps(store: Path, told: list[int]) -> Difference:
    """Each step that was told is completed in the store, once, and no group was trained on twice."""
    difference = compare(store, ())
    with closing(sqlite3.connect(store)) as connection:
        rows = connection.execute("SELECT step, group_ids_json, completed_us FROM train_step").fetchall()
    completed = {step for step, _, at in rows if at is not None}
    difference.lost += [f"step {step}" for step in told if step not in completed]
    difference.doubled += [f"step {step}, told twice" for step, times in Counter(told).items() if times > 1]
    groups = Counter(group for _, text, _ in rows for group in json.loads(text or "[]"))
    difference.doubled += [f"group {group}, trained on twice" for group, times in groups.items() if times > 1]
    return difference
