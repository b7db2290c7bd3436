"""A command of somebody else's, run to its end: with a deadline, with bounds, and without children left."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from crosswind.studies.chaos import guard

KEPT_BYTES = 256 << 10
"""How much of the end of an output is kept."""
_ROUNDS = 10
_CLOSE_S = 5.0
"""How long the rest of the output may take once every process is gone."""


class CommandNotRun(Exception):
    """The command can't be started; the message names it and says why."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended."""

    status: int | None
    """Its exit status; below 0 the signal that ended it; None: it was killed at its deadline or its bound."""
    output: str = ""
    errors: str = ""
    seconds: float = 0.0
    timed_out: bool = False
    flooded: bool = False
    left_behind: int = 0
    """Processes that it had started and that were still there after it: they were killed."""

    def describe(self) -> str:
        """How it ended, in words; empty for exit status 0."""
        if self.timed_out:
            return "did not end in time and was killed"
        if self.flooded:
            return "wrote too much output and was killed"
        if self.status == 0:
            return ""
        assert self.status is not None
        if self.status < 0:
            with suppress(ValueError):
                return f"was ended by {signal.Signals(-self.status).name}"
        said = next((line for line in reversed(self.errors.splitlines()) if line.strip()), "")
        return f"exit status {self.status}" + (f": {said.strip()[:200]}" if said else "")


class _Reader(asyncio.SubprocessProtocol):
    """Keeps the ends of a command's outputs. Not asyncio's own streams: those wait for the pipes, which a
    child that was left behind holds open."""

    def __init__(self, most: int) -> None:
        loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[None] = loop.create_future()
        self.closed: asyncio.Future[None] = loop.create_future()
        self.tails = {1: bytearray(), 2: bytearray()}
        self.flooded = False
        self._left = most

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        tail = self.tails[fd]
        tail += data
        if len(tail) > 2 * KEPT_BYTES:
            del tail[:-KEPT_BYTES]
        self._left -= len(data)
        if self._left < 0 and not self.exited.done():
            self.flooded = True
            self.exited.set_result(None)

    def process_exited(self) -> None:
        if not self.exited.done():
            self.exited.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.closed.done():
            self.closed.set_result(None)

    def text(self, fd: int) -> str:
        return bytes(self.tails[fd][-KEPT_BYTES:]).decode(errors="replace")


async def run_command(
    command: Sequence[str],
    given: str | None,
    variables: Mapping[str, str],
    *,
    timeout_s: float,
    most_bytes: int,
    mark: str | None = None,
) -> Ended:
    """Run a command with `given` on its standard input (None: nothing). Raises CommandNotRun.

    `mark` is an entry of its environment, as NAME=VALUE, by which processes are found that have left its
    process group.
    """
    loop, began = asyncio.get_running_loop(), time.monotonic()
    reader = _Reader(most_bytes)
    try:
        transport, _ = await loop.subprocess_exec(
            lambda: reader,
            *command,
            stdin=asyncio.subprocess.DEVNULL if given is None else asyncio.subprocess.PIPE,
            env=dict(variables),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise CommandNotRun(f"{command[0]!r} can't be started: {error}") from error
    pid, timed_out, left = transport.get_pid(), False, 0
    try:
        if given is not None and (stdin := transport.get_pipe_transport(0)) is not None:
            assert isinstance(stdin, asyncio.WriteTransport)
            stdin.write(given.encode(errors="replace"))
            stdin.write_eof()
        try:
            async with asyncio.timeout(timeout_s):
                await asyncio.shield(reader.exited)
        except TimeoutError:
            timed_out = True
        status = transport.get_returncode()
    finally:
        left = len(find_marked(mark)) if mark else 0
        _kill_group(pid)
        if left and mark:
            kill_marked(mark)
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(reader.closed), _CLOSE_S)
        transport.close()
    return Ended(
        None if timed_out or reader.flooded else status,
        reader.text(1),
        reader.text(2),
        time.monotonic() - began,
        timed_out,
        reader.flooded,
        left if not (timed_out or reader.flooded) else 0,
    )


def _kill_group(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def kill_marked(mark: str) -> None:
    """Kill the processes with this entry in their environment, and what they start meanwhile. Linux only."""
    for _ in range(_ROUNDS):
        if not (found := find_marked(mark)):
            return
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def find_marked(mark: str) -> list[int]:
    """The processes with this entry, as NAME=VALUE, in their environment; zombies have none."""
    return guard.find(mark.encode())
