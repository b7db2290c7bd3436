"""Ends a run's processes if the run itself is killed: a process that waits for its standard input to close.

It imports the standard library only and is run as a file, so that it starts in no time.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

VARIABLE = "_CROSSWIND_RUN"
"""In the environment of every process of a run."""
PROCESSES = Path("/proc")
GRACE_S = 5.0


def find(mark: bytes) -> list[int]:
    """The processes, besides this one, with this entry in their environment; zombies have none."""
    found: list[int] = []
    if not PROCESSES.is_dir():
        return found
    for folder in PROCESSES.iterdir():
        try:
            if folder.name.isdigit() and mark in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:
            continue
    return [pid for pid in found if pid != os.getpid()]


def main(token: str) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    while sys.stdin.buffer.read(4096):
        pass
    mark = f"{VARIABLE}={token}".encode()
    for number in (signal.SIGTERM, signal.SIGKILL):
        until = time.monotonic() + GRACE_S
        while (left := find(mark)) and time.monotonic() < until:
            for pid in left:
                try:
                    os.kill(pid, number)
                except OSError:
                    continue
            time.sleep(0.1)


if __name__ == "__main__":
    main(sys.argv[1])
