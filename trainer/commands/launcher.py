"""`crosswind train run --workers N`: starts the N processes of a run on this machine, and ends with them.

Each is the same command again, told its rank in the variables that torchrun sets. torchrun itself isn't used:
it ends the others as soon as one fails, so that it can't be told which didn't answer, and it kills what has
not ended 30 s after SIGTERM, in the middle of a step that would have been taken.
"""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from types import FrameType

import click

from crosswind.trainer.errors import OutOfMemory

LAUNCHER = "CROSSWIND_LAUNCHER"
"""Environment variable: the process that started a worker, which ends when that does."""
RENDEZVOUS = "CROSSWIND_RENDEZVOUS"
"""Environment variable: the file by which the processes of one machine find each other."""
LOST = 75
"""Exit code of a worker that another one left in the middle of an exchange."""
MEMORY = 76
"""Exit code of a worker whose micro-batch didn't fit into memory; it has left a note."""
_NOTE = "too-large"
GRACE_S = 5.0
"""Seconds in which workers notice that another one is gone, or that the run has ended."""
RESUME = "start the same command again, which takes the same step"


def leave_note(said: str, places: int) -> None:
    """Tell the launcher, as a worker that ends with MEMORY."""
    note = Path(os.environ[RENDEZVOUS]).with_name(_NOTE)
    note.write_text(f"{places} {said}")


def launch_within_memory(command: Sequence[str], count: int, deadline: float) -> int:
    """As `launch`. Where a micro-batch doesn't fit into a worker's memory, all start again with half as large
    ones, once: a worker alone can't, since the others are in the middle of an exchange with it.
    """
    try:
        return launch(command, count, deadline)
    except OutOfMemory as error:
        half = max(1, error.places // 2)
        click.echo(
            f"crosswind: {error}; all {count} workers start again after the last step, with "
            f"--set optimiser.token_budget={half}",
            err=True,
        )
    again = [*(each for each in command if each != "--fresh"), "--set", f"optimiser.token_budget={half}"]
    try:
        return launch(again, count, deadline)
    except OutOfMemory as error:
        click.echo(f"crosswind: {error}; it was halved once already", err=True)
        return 1


def launch(command: Sequence[str], count: int, deadline: float) -> int:
    """Run a command in so many processes; gives the exit code. SIGTERM and SIGINT go to rank 0, which ends
    after its step; a second one ends all at once. Raises OutOfMemory.
    """
    with tempfile.TemporaryDirectory(prefix="crosswind-workers-") as folder:
        workers = [_start(command, rank, count, Path(folder)) for rank in range(count)]
        sent: list[int] = []

        def forward(number: int, frame: FrameType | None) -> None:
            sent.append(number)
            for worker in workers if len(sent) > 1 else workers[:1]:  # The second one ends all at once.
                with suppress(ProcessLookupError):
                    worker.send_signal(signal.SIGKILL if len(sent) > 1 else number)

        before = {number: signal.signal(number, forward) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            codes = _wait(workers)
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()
            for number, handler in before.items():
                signal.signal(number, handler)
        if MEMORY in codes.values() and not sent:
            places, _, said = (Path(folder) / _NOTE).read_text().partition(" ")
            raise OutOfMemory(said, int(places))
    if len(sent) > 1 or (sent and codes.get(0) == -sent[0]):  # The latter before it could note the signal.
        return 128 + sent[-1]
    return _report(workers, codes, deadline)


def _start(command: Sequence[str], rank: int, count: int, folder: Path) -> subprocess.Popen[bytes]:
    """In a session of its own, so that a terminal's Ctrl-C reaches it through the launcher only."""
    named = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": count, "LOCAL_WORLD_SIZE": count}
    environment = {
        # All are on this machine: nothing listens to the outside.
        **({"GLOO_SOCKET_IFNAME": "lo"} if sys.platform == "linux" else {}),
        **os.environ,
        **{name: str(value) for name, value in named.items()},
        RENDEZVOUS: str(folder / "rendezvous"),
        LAUNCHER: str(os.getpid()),
    }
    return subprocess.Popen(command, env=environment, start_new_session=True, stdin=subprocess.DEVNULL)


def _wait(workers: Sequence[subprocess.Popen[bytes]]) -> dict[int, int]:
    """The exit codes by rank, in the order in which they came: until all have ended, or as many as do so soon
    after rank 0 ended, or after another one failed.
    """
    ended: queue.Queue[tuple[int, int]] = queue.Queue()
    for rank, worker in enumerate(workers):
        Thread(
            target=lambda rank, worker: ended.put((rank, worker.wait())), args=(rank, worker), daemon=True
        ).start()
    codes: dict[int, int] = {}
    until: float | None = None
    while len(codes) < len(workers):
        try:
            rank, code = ended.get(timeout=None if until is None else max(0.0, until - time.monotonic()))
        except queue.Empty:
            break
        codes[rank] = code
        if until is None and (code or rank == 0):
            until = time.monotonic() + GRACE_S
    return codes


def _report(workers: Sequence[subprocess.Popen[bytes]], codes: dict[int, int], deadline: float) -> int:
    """One line for workers that were lost; those that failed otherwise have said why themselves. The first
    one that failed counts: it may have taken others along.
    """
    failed = [(rank, code) for rank, code in codes.items() if code not in (0, LOST)]
    silent = [rank for rank in range(len(workers)) if rank not in codes]
    if failed and failed[0][1] > 0:
        return failed[0][1]
    if failed:
        rank, number = failed[0][0], -failed[0][1]
        why = ", as the system does where memory ends" if number == signal.SIGKILL else ""
        what = f"was ended by {_name(number)}{why}"
    elif LOST in codes.values():
        rank = silent[0] if silent else next(iter(codes))
        what = f"didn't answer within {deadline:g} s (worker_deadline)" if silent else "lost the others"
    else:
        return 0
    place = f"worker {rank} of {len(workers)} (rank {rank}, process {workers[rank].pid})"
    click.echo(f"crosswind: {place} {what}; the others have ended, and no step is lost: {RESUME}", err=True)
    return 1


def _name(number: int) -> str:
    with suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"
