"""`crosswind bench` as a child process, since this package can't import the one that measures."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence


class BenchError(Exception):
    """The bench failed. The message is the last line that it printed."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def run_bench(arguments: Sequence[str]) -> None:
    """Run the bench to its end. Raises BenchError."""
    command = [sys.executable, "-m", "crosswind.gateway.cli", "bench", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-1]
        raise BenchError(last.removeprefix("crosswind: "), done.returncode)
