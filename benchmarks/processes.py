"""Servers that are measured: their start, their CPU time and memory as the kernel counts them, their end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

START_DEADLINE_S = 180.0
_PROCESS_CPU_CLOCK = 2
"""CPUCLOCK_SCHED of Linux' <linux/posix-timers.h>: user and system time in nanoseconds."""


class DidNotStart(Exception):
    """A server that gave no answer in time, or ended; the message names its log."""


@dataclass(slots=True)
class Process:
    """A server and its children."""

    root: subprocess.Popen[bytes]
    log: Path
    start_s: float = field(default=0.0)
    """From its start to its first answer with status 200."""

    def cpu_s(self) -> float:
        """CPU seconds, user and system, of the process and its living descendants since their start."""
        return sum(cpu_s(pid) for pid in tree(self.root.pid))

    def rss_mb(self) -> float:
        """Resident memory in MB, of the process and its living descendants."""
        return sum(rss_kb(pid) for pid in tree(self.root.pid)) / 1024


def cpu_s(pid: int) -> float:
    """CPU seconds, user and system, of a process and its threads, ended ones too; 0 where it is gone.

    It is what utime and stime in /proc/PID/stat count, in nanoseconds instead of hundredths of a second.
    """
    try:
        return time.clock_gettime(~pid << 3 | _PROCESS_CPU_CLOCK)
    except OSError:
        return 0.0


def rss_kb(pid: int) -> int:
    """Resident memory of one process in KiB; 0 where it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = [line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:")]
    return int(found[0]) if found else 0


def tree(root: int) -> Iterator[int]:
    """A process and its descendants."""
    yield root
    for task in Path(f"/proc/{root}/task").glob("*/children"):
        try:
            children = task.read_text().split()
        except OSError:
            continue
        for child in children:
            yield from tree(int(child))


@contextmanager
def run_server(
    command: Sequence[str],
    *,
    port: int,
    probe: bytes,
    log: Path,
    core: int | None = None,
    environment: Mapping[str, str],
    deadline_s: float = START_DEADLINE_S,
) -> Iterator[Process]:
    """Start a server, on one core if so, wait for its first 200 to `probe`, and stop it at the end."""
    with log.open("wb") as output:
        started = time.perf_counter()
        root = subprocess.Popen(
            [*(() if core is None else ("taskset", "-c", str(core))), *command],
            stdout=output,
            stderr=output,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **environment},
            start_new_session=True,
        )
        process = Process(root, log)
        try:
            _wait_for_200(process, port, probe, started + deadline_s)
            process.start_s = time.perf_counter() - started
            yield process
        finally:
            _stop(root)


def _wait_for_200(process: Process, port: int, probe: bytes, deadline: float) -> None:
    while time.perf_counter() < deadline:
        if process.root.poll() is not None:
            said = process.log.read_text(errors="replace").strip().rpartition("\n")[2]
            raise DidNotStart(f"it ended with {process.root.returncode} ({said}); its log: {process.log}")
        if _answers(port, probe):
            return
        time.sleep(0.01)
    raise DidNotStart(f"no answer with status 200 in time; its log: {process.log}")


def _answers(port: int, probe: bytes) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
            connection.sendall(probe)
            return connection.recv(64).startswith(b"HTTP/1.1 200")
    except OSError:
        return False


def _stop(root: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        if root.poll() is not None:
            break
        os.killpg(root.pid, number)
        try:
            root.wait(60)
        except subprocess.TimeoutExpired:
            continue
