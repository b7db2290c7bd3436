"""Evaluation while training: `crosswind bench` as a child process, since metrics and intervals have one
owner.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import orjson

from crosswind.trainer.run.progress import Progress

_BENCH = (sys.executable, "-m", "crosswind.gateway.cli", "bench")


def check(arguments: Sequence[str]) -> str | None:
    """Why the bench can't be run with these arguments, in one line; None where it can."""
    done = subprocess.run([*_BENCH, *arguments, "--check"], capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else _last_line(done)


def bench(arguments: Sequence[str], out: Path, progress: Progress) -> None:
    """Run the bench with these arguments, its JSON to `out`, and say each arm's success. A failure is said,
    not raised.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    command = [*_BENCH, *arguments, "--json", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        progress.note(f"evaluation failed with exit code {done.returncode}: {_last_line(done)}")
        return
    arms = orjson.loads(out.read_bytes())["arms"]
    rates = {name: arm["success"] for name, arm in arms.items()}
    shown = ", ".join(f"{name} {100 * rate:.0f}%" for name, rate in rates.items())
    progress.note(f"evaluation: {shown} ({out})", success=rates)


def _last_line(done: subprocess.CompletedProcess[str]) -> str:
    last = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-1]
    return last.removeprefix("crosswind: ")
