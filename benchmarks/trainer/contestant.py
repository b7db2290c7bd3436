"""What every contestant does: take a step when told to, and say what it cost.

Standard library only, since TRL's environment has nothing of ours.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path


def answer(step: Callable[[], dict[str, float]]) -> None:
    """Say that the models are loaded; then a step for each line, with its CPU seconds and the memory that its
    peak was above what was resident before the first one.
    """
    loaded = read_kb("VmRSS")
    print(json.dumps({"ready": True}), flush=True)
    for _ in sys.stdin:
        began, clock = time.process_time(), time.monotonic()
        said = step()
        said["cpu_s"] = time.process_time() - began
        said["wall_s"] = time.monotonic() - clock
        said["growth_mb"] = (read_kb("VmHWM") - loaded) / 1024
        print(json.dumps(said), flush=True)


def read_kb(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))
