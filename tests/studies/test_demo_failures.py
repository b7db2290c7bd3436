"""Which child of the demo a person is told of, where one's end takes the other one along."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest
from rich.console import Console

from crosswind.studies.demo.run import train
from crosswind.studies.demo.settings import DemoSettings
from crosswind.studies.stack import Child, ChildFailed, Processes

WAIT = "import time; time.sleep(600)"
READY = "print('{}', flush=True); "


class Programs(Processes):
    """Programs in the place of commands, by their names."""

    def __init__(self, folder: Path, **programs: str) -> None:
        super().__init__(folder)
        self._folder, self._programs = folder, programs

    async def start(self, name: str, *arguments: str, listen: bool = False) -> Child:
        command = [sys.executable, "-c", self._programs[name]]
        process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        child = Child(name, process, self._folder / f"{name}.log")
        self._children.append(child)
        return child


@pytest.mark.parametrize(
    ("trainer", "rollouts", "named"),
    [
        (f"{READY}raise SystemExit(3)", WAIT, "`crosswind train` ended with exit code 3"),
        ("raise SystemExit(3)", WAIT, "`crosswind train` ended with exit code 3"),
        (f"{READY}{WAIT}", "raise SystemExit(4)", "`crosswind rollout` ended with exit code 4"),
        (f"{READY}{WAIT}", f"{READY}raise SystemExit(4)", "`crosswind rollout` ended with exit code 4"),
    ],
)
async def test_the_child_that_failed_first_is_named(
    trainer: str, rollouts: str, named: str, tmp_path: Path
) -> None:
    """The other one is ended by SIGTERM, which it may not catch yet."""
    async with Programs(tmp_path, train=trainer, rollout=rollouts) as processes:
        with pytest.raises(ChildFailed, match=named):
            await train(DemoSettings(), processes, "", "", Console(quiet=True), 600.0)
