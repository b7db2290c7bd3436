"""The contestants' processes: each loads its model once, and takes a step when told to."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

Step = dict[str, float]


@dataclass(slots=True)
class Contestant:
    """A process that answers each line with a step's figures."""

    name: str
    command: Sequence[str]
    process: subprocess.Popen[str]
    log: Path

    def step(self) -> Step:
        assert self.process.stdin is not None
        self.process.stdin.write("step\n")
        self.process.stdin.flush()
        return self._read()

    def _read(self) -> Step:
        """The next line of figures; libraries print others."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("{"):
                said: Step = json.loads(line)
                return said
        tail = self.log.read_text(errors="replace").splitlines()[-8:]
        raise click.ClickException("\n".join([f"{self.name} ended; {self.log}:", *tail]))

    def stop(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def start(name: str, command: Sequence[str], log: Path) -> Contestant:
    """Start one and wait until its model is loaded."""
    variables = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    if "theirs" in "".join(command):  # an environment of its own
        variables.pop("PYTHONPATH", None)
    with log.open("ab") as sink:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=sink, text=True, env=variables
        )
    started = Contestant(name, command, process, log)
    started._read()
    return started
