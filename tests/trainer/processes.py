"""`crosswind train` as a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests import ROOT

_IMPORT = "import sys; from crosswind.trainer.commands.train import train; "


def run_trainer(*arguments: object) -> subprocess.CompletedProcess[str]:
    """`crosswind train ARGUMENTS`, to its end."""
    return run_python("train(prog_name='crosswind train')", *arguments)


def run_python(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """A program that has imported the command `train`, to its end."""
    command = [sys.executable, "-c", _IMPORT + code, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@contextmanager
def start_trainer(*arguments: object) -> Iterator[subprocess.Popen[str]]:
    """`crosswind train run ARGUMENTS` while the block runs; killed at its end, if it still goes on then."""
    command = [sys.executable, "-c", _IMPORT + "train(prog_name='crosswind train')", "run"]
    with subprocess.Popen(
        [*command, *map(str, arguments)], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()
