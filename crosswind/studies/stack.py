"""The processes of a study: engines, gateways and other commands, started, awaited and stopped together."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import httpx

T = TypeVar("T")

GRACE_SECONDS = 20.0
"""How long a child may take to end after SIGTERM before it is killed."""


class ChildFailed(Exception):
    """A child process ended too early or with an error; the message shows the end of its log."""


class Child:
    """One running command: its standard output is read by line, its standard error goes to a log."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, log: Path) -> None:
        self.name = name
        self.process = process
        self.log = log

    async def lines(self) -> AsyncIterator[str]:
        """The lines of its standard output, until it closes it."""
        assert self.process.stdout is not None
        async for raw in self.process.stdout:
            yield raw.decode(errors="replace").rstrip("\n")

    async def drain(self) -> None:
        """Read and drop the rest of its standard output, so that it never blocks on a full pipe."""
        async for _ in self.lines():
            pass

    def terminate(self) -> None:
        """Ask it to end; one that has ended already is left alone."""
        self._send(signal.SIGTERM)

    async def stop(self) -> None:
        """End it: SIGTERM, then, after the grace period, SIGKILL."""
        if self.process.returncode is not None:
            return
        self.terminate()
        try:
            await asyncio.wait_for(self.process.wait(), GRACE_SECONDS)
        except TimeoutError:
            self._send(signal.SIGKILL)
            await self.process.wait()

    def _send(self, number: signal.Signals) -> None:
        """`Process.send_signal` would first look whether it has ended, and where it has, take the exit code
        away from asyncio, which then reports 255.
        """
        if self.process.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.process.pid, number)

    async def wait_for_success(self) -> None:
        """Wait for its end; an exit code other than 0 raises `ChildFailed`."""
        if await self.process.wait() != 0:
            raise self.failure()

    def failure(self) -> ChildFailed:
        """Why it failed, with the last lines of its log."""
        tail = self.log.read_text(errors="replace").splitlines()[-8:] if self.log.exists() else []
        return ChildFailed(
            f"`crosswind {self.name}` ended with exit code {self.process.returncode}; "
            f"its log is {self.log}" + "".join(f"\n    {line}" for line in tail)
        )


class Processes:
    """Owns every child of a run: leaving the context stops them all, newest first."""

    def __init__(self, logs: Path, variables: Mapping[str, str] | None = None) -> None:
        """`variables` are put into the children's environment."""
        self._logs = logs
        self._variables = dict(variables or {})
        self._children: list[Child] = []
        self._drains: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Processes:
        self._logs.mkdir(parents=True, exist_ok=True)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for child in reversed(self._children):
            await child.stop()
        for task in self._drains:
            task.cancel()
        await asyncio.gather(*self._drains, return_exceptions=True)

    async def start(self, name: str, *arguments: str, listen: bool = False) -> Child:
        """Start `crosswind ARGUMENTS`. With `listen` the caller reads its lines, else they are dropped."""
        log = self._logs / f"{name.replace(' ', '-')}.log"
        with log.open("ab") as sink:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "crosswind.gateway.cli",
                *arguments,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=sink,
                env={
                    **os.environ,
                    "OMP_NUM_THREADS": "1",
                    "TOKENIZERS_PARALLELISM": "false",
                    **self._variables,
                },
                limit=2**24,
            )
        child = Child(name, process, log)
        self._children.append(child)
        if not listen:
            task = asyncio.create_task(child.drain())
            self._drains.add(task)
            task.add_done_callback(self._drains.discard)
        return child

    async def run(
        self, name: str, *arguments: str, on_line: Callable[[str], Awaitable[None]] | None = None
    ) -> None:
        """Run a command to its end; an error raises `ChildFailed`."""
        child = await self.start(name, *arguments, listen=on_line is not None)
        if on_line is not None:
            async for line in child.lines():
                await on_line(line)
        await child.wait_for_success()


async def run_stoppable(run: Coroutine[Any, Any, T]) -> T:
    """Run it so that SIGTERM and Ctrl-C cancel it: every child is stopped first. Raises CancelledError."""
    task = asyncio.current_task()
    assert task is not None
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    return await run


@dataclass(frozen=True, slots=True)
class RunningGateway:
    """A gateway of the study's own: its two planes, and the URL of its store."""

    data: str
    control: str
    store: str


async def start_engine(
    processes: Processes, policy: str, *options: str, port: int = 0, name: str = "policy serve", wait_s: float
) -> str:
    """`crosswind policy serve` for a policy; gives the engine's root URL once it serves. 0: a free port."""
    port = port or free_port()
    url = f"http://127.0.0.1:{port}"
    child = await processes.start(name, "policy", "serve", policy, "--port", str(port), *options)
    await wait_until_ready(child, f"{url}/policy", wait_s)
    return url


async def start_gateway(
    processes: Processes,
    upstream: str | None,
    store: Path,
    *options: str,
    ports: tuple[int, int] = (0, 0),
    name: str = "serve",
    wait_s: float,
    replayable: bool = True,
) -> RunningGateway:
    """`crosswind serve` in front of an upstream; given back once both planes answer. 0: a free port.

    Without an upstream, the options name a configuration that has one. `replayable`: the tools are stand-ins,
    as in the built-in environments, and every call may be repeated.
    """
    data, control = (port or free_port() for port in ports)
    gateway = RunningGateway(f"http://127.0.0.1:{data}", f"http://127.0.0.1:{control}", f"sqlite:///{store}")
    child = await processes.start(
        name,
        *("serve", "--port", str(data), "--control-port", str(control)),
        *(["--upstream", upstream] if upstream else []),
        *("--store", gateway.store, *(["--assume-replayable"] if replayable else []), *options),
    )
    for plane in (gateway.data, gateway.control):
        await wait_until_ready(child, f"{plane}/healthz", wait_s)
    return gateway


async def run_bench(processes: Processes, *arguments: str, out: Path, name: str = "bench") -> dict[str, Any]:
    """`crosswind bench`; gives what it wrote to `out`."""
    await processes.run(name, "bench", *arguments, "--json", str(out))
    measured: dict[str, Any] = json.loads(await asyncio.to_thread(out.read_text, "utf-8"))
    return measured


async def wait_until_ready(child: Child, url: str, wait_s: float) -> None:
    """Wait until the child's server answers `url` with 200. Its end, or no answer in time, raises."""
    async with httpx.AsyncClient(timeout=5.0, trust_env=False) as client:
        try:
            async with asyncio.timeout(wait_s):
                while not await _answers(client, url):
                    if child.process.returncode is not None:
                        raise child.failure()
                    await asyncio.sleep(0.1)
        except TimeoutError:
            raise ChildFailed(
                f"`crosswind {child.name}` did not answer {url} within {wait_s:g} s: {child.log}"
            ) from None


async def _answers(client: httpx.AsyncClient, url: str) -> bool:
    try:
        return (await client.get(url)).status_code == 200
    except httpx.TransportError:
        return False


def free_port() -> int:
    """A loopback port that is free now."""
    with socket.create_server(("127.0.0.1", 0)) as bound:
        return int(bound.getsockname()[1])
