"""A gateway of its own in front of a scripted policy, for as long as a measurement lasts."""

from __future__ import annotations

import asyncio
import re
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from crosswind.studies.proof.scripted_policy import Decide, ScriptedPolicy

START_SECONDS = 60.0
END_SECONDS = 30.0
_CONTROL = re.compile(r"control plane\s+(http://\S+)")


class GatewayFailedError(RuntimeError):
    """The gateway didn't start, or ended early; the text has the last that it said."""


@asynccontextmanager
async def gateway_before(decide: Decide, folder: Path) -> AsyncIterator[str]:
    """`crosswind serve` before a policy that decides so, with its store in the folder; gives the URL of its
    control plane."""
    async with ScriptedPolicy(decide).running() as policy:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *(
                "-m",
                "crosswind.gateway.cli",
                "serve",
                "--upstream",
                policy.url,
                "--port",
                "0",
                "--control-port",
                "0",
            ),
            *("--store", f"sqlite:///{folder / 'crosswind.db'}", "--profile", "off"),
            stdin=DEVNULL,
            stdout=DEVNULL,
            stderr=PIPE,
        )
        said: deque[str] = deque(maxlen=400)
        control: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        listening = asyncio.create_task(_listen(process, said, control))
        try:
            yield await _announced(control, said)
        finally:
            await _end(process)
            await listening


async def _listen(process: Process, said: deque[str], control: asyncio.Future[str]) -> None:
    """Read what the gateway says, to its end, so that it never waits for a reader."""
    assert process.stderr is not None
    async for line in process.stderr:
        said.append(line.decode(errors="replace").rstrip())
        found = _CONTROL.search(said[-1])
        if found and not control.done():
            control.set_result(found[1])
    if not control.done():
        control.set_exception(GatewayFailedError("\n".join(said)))


async def _announced(control: asyncio.Future[str], said: deque[str]) -> str:
    try:
        return await asyncio.wait_for(control, START_SECONDS)
    except TimeoutError:
        raise GatewayFailedError("\n".join(["the gateway didn't start", *said])) from None


async def _end(process: Process) -> None:
    if process.returncode is None:
        process.terminate()
    try:
        await asyncio.wait_for(process.wait(), END_SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()
