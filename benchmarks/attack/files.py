"""Faults of the disk: under load, in each command that keeps a store, and as power loss."""

from __future__ import annotations

import asyncio
import random
import time
from pathlib import Path

from benchmarks.attack.disk_commands import fail_commands
from benchmarks.attack.disk_faults import fail_while_serving
from benchmarks.attack.faults import build
from benchmarks.attack.power import lose_power
from benchmarks.attack.report import Outcome
from benchmarks.attack.stack import find_tracebacks
from benchmarks.attack.stage import Stage


async def attack(folder: Path, seconds: float, seed: int) -> Outcome:
    """Each of the three parts gets a third of the time, and one try at least. Raises NoCompiler."""
    outcome, begun = Outcome("files"), time.monotonic()
    stage = Stage(folder, build(folder), seed, outcome, random.Random(seed))
    for number, part in enumerate((fail_while_serving, fail_commands, lose_power), 1):
        await part(stage, begun + seconds * number / 3)
    outcome.seconds = time.monotonic() - begun
    outcome.tries = sum(
        outcome.figures[name] for name in ("faults while serving", "faults in commands", "power losses")
    )
    outcome.problems += await asyncio.to_thread(find_tracebacks, folder)
    return outcome
