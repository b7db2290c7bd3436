"""A child process of the supervisor: start, messages, restart."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crosswind.gateway.config.settings import ENVIRONMENT_PREFIX
from crosswind.gateway.peers.channel import Channel, Message

METRICS_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
SILENT_S = 5.0
"""A child without a message for this long is not ready: its event loop is stuck."""
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 10.0
_STEADY_S = 10.0
"""An exit after this long in service does not count as a failed start."""

Hear = Callable[["ChildProcess", Message], Awaitable[Message | None]]


@dataclass(slots=True, eq=False)
class ChildProcess:
    """A worker (`number` from 1) or the control plane (0), across its restarts."""

    number: int
    pid: int = 0
    ready: bool = False
    problem: str | None = None
    """The problem it last reported."""
    upstreams: Message = field(default_factory=dict)
    """The states of the upstreams' replicas it last reported."""
    failed_starts: int = 0
    process: asyncio.subprocess.Process | None = None
    channel: Channel | None = None
    handed: socket.socket | None = None
    """Our end of the socket pair over which a worker receives its connections."""
    heard: float = 0.0
    since: float = 0.0
    failure: Message | None = None
    """Why it could not start, as it reported: {error, code}."""

    @property
    def name(self) -> str:
        return f"worker {self.number}" if self.number else "the control plane"

    async def start(self, folder: Path, inherited: socket.socket | None) -> None:
        """Start a process. A worker receives connections; the control plane inherits its listener."""
        ours, theirs = socket.socketpair()
        if inherited is None:
            self.handed, second = socket.socketpair()
            self.handed.setblocking(False)
        else:
            second = inherited.dup()
        self.failure = self.problem = None
        descriptors = theirs.fileno(), second.fileno()
        try:
            self.process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "crosswind.gateway.workers.worker", *map(str, descriptors)),
                stdin=asyncio.subprocess.DEVNULL,
                pass_fds=descriptors,
                # Its own process group: only the supervisor passes on an interrupt at the terminal, once.
                process_group=0,
                env=_make_environment(folder),
            )
        finally:
            theirs.close()
            second.close()
        self.pid, self.since = self.process.pid, asyncio.get_running_loop().time()
        self.heard = self.since
        self.channel = await Channel.open(ours)

    async def live(self, hear: Hear) -> int:
        """Handle the process's messages until it ends; return its exit code, negative for a signal."""
        assert self.process is not None and self.channel is not None
        loop = asyncio.get_running_loop()

        async def heard(message: Message) -> Message | None:
            self.heard = loop.time()
            return await hear(self, message)

        await self.channel.listen(heard)
        code = await self.process.wait()
        steady = self.ready and loop.time() - self.since > _STEADY_S
        self.failed_starts = 1 if steady else self.failed_starts + 1
        self.ready = False
        self.channel.close()
        self.channel = None
        if self.handed is not None:
            self.handed.close()
            self.handed = None
        return code

    def pause_s(self) -> float:
        return min(_FIRST_PAUSE_S * 2.0 ** (self.failed_starts - 1), _LONGEST_PAUSE_S)

    def tell(self, message: Message) -> None:
        if self.channel is not None:
            self.channel.tell(message)

    async def ask(self, message: Message, timeout_s: float) -> Message | None:
        return None if self.channel is None else await self.channel.ask(message, timeout_s)

    def signal(self, number: int) -> None:
        """Send a signal if the process is running."""
        if self.process is not None and self.process.returncode is None:
            # Its own send_signal may reap the process before asyncio's watcher does, which then makes up the
            # exit status 255 (CPython before 3.12).
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.process.pid, number)

    def trouble(self, now: float) -> str | None:
        """Why it is not healthy, in a few words; None if it is."""
        if not self.ready:
            return f"{self.name} is being started"
        if now - self.heard > SILENT_S:
            return f"{self.name} has not been heard for {now - self.heard:.0f} s"
        return f"{self.name}: {self.problem}" if self.problem else None

    def state(self, now: float) -> dict[str, Any]:
        """Its state, as reported to the control plane."""
        return {
            "number": self.number,
            "pid": self.pid,
            "trouble": self.trouble(now),
            "upstreams": self.upstreams,
        }


def _make_environment(folder: Path) -> dict[str, str]:
    """Our environment with the metrics' folder and without the configuration, which children get as a
    message.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ENVIRONMENT_PREFIX)}
    return {**kept, METRICS_VARIABLE: str(folder)}
