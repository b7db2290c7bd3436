"""What the launcher makes of its processes' ends: small programs in the place of workers."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from crosswind.trainer.commands.launcher import LOST
from tests import ROOT

LAUNCH = (
    "import sys; from crosswind.trainer.commands.launcher import launch; "
    "sys.exit(launch([sys.executable, '-c', sys.argv[1]], 3, 7.0))"
)
PRELUDE = """
import os, pathlib, signal, sys, time
rank, folder = int(os.environ["RANK"]), pathlib.Path(os.environ["CROSSWIND_RENDEZVOUS"]).parent
(folder / str(rank)).touch()
while not all((folder / str(number)).exists() for number in range(3)):
    time.sleep(0.01)
"""
"""All wait for the last one: on a busy machine it may start later than the launcher waits after a failure."""


def start(worker: str) -> subprocess.Popen[str]:
    """Three processes of this program."""
    command = [sys.executable, "-c", LAUNCH, PRELUDE + worker]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=ROOT, text=True, **streams)


@pytest.mark.parametrize(
    ("worker", "code", "said"),
    [
        ("pass", 0, ""),
        ("sys.exit(0 if rank else 2)", 2, ""),  # It has said why itself.
        (f"sys.exit(1 if rank == 2 else {LOST})", 1, ""),
        (
            f"os.kill(os.getpid(), signal.SIGBUS) if rank == 2 else sys.exit({LOST})",
            1,
            "crosswind: worker 2 of 3 (rank 2, process",
        ),
        (  # What the others make of it, once it is gone, hides nothing.
            "import fcntl; lock = (folder / 'lock').open('w')\n"
            "rank == 2 and (fcntl.flock(lock, fcntl.LOCK_EX), (folder / 'locked').touch())\n"
            "while not (folder / 'locked').exists(): time.sleep(0.01)\n"
            "rank == 2 and os.kill(os.getpid(), signal.SIGBUS)\n"
            "fcntl.flock(lock, fcntl.LOCK_EX)\n"
            "sys.exit(1)",
            1,
            "crosswind: worker 2 of 3 (rank 2, process",
        ),
        (f"sys.exit({LOST})", 1, "crosswind: worker"),
    ],
)
def test_an_end_is_told_by_one_line_at_most_and_by_the_exit_code(worker: str, code: int, said: str) -> None:
    with start(worker) as process:
        _, errors = process.communicate()
    assert (process.returncode, errors[: len(said)]) == (code, said)
    assert len(errors.splitlines()) == bool(said)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_goes_to_the_first_worker_which_ends_when_it_is_done(number: int) -> None:
    worker = (
        "signal.signal(signal.SIGTERM, lambda *_: (print('noted', flush=True), sys.exit(0)))\n"
        "signal.signal(signal.SIGINT, signal.getsignal(signal.SIGTERM))\n"
        "rank or print('ready', flush=True)\n"
        "time.sleep(600 if rank == 0 else 0)"
    )
    with start(worker) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        process.send_signal(number)
        out, errors = process.communicate()
    assert (process.returncode, out, errors) == (0, "noted\n", "")


def test_a_second_signal_ends_all_at_once() -> None:
    worker = (
        "signal.signal(signal.SIGINT, lambda *_: print('noted', flush=True))\n"
        "rank or print('ready', flush=True)\n"
        "[time.sleep(0.01) for _ in range(60000)]"
    )
    with start(worker) as process:
        assert process.stdout is not None
        for line in ("ready\n", "noted\n"):
            assert process.stdout.readline() == line
            process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
    assert (process.returncode, errors) == (128 + signal.SIGINT, "")
