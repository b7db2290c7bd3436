"""A trainer that kills itself with SIGKILL at a named point of its second step: run as a program by the
tests.

    python -m tests.trainer.run.killed_run POINT STORE POLICY OUT ENGINE
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.policies.publishers.embedded import EmbeddedEngine
from crosswind.policies.versions.version import Registry
from crosswind.trainer.run.loop import train
from tests.trainer.practice import make_run, settings


def on_call(owner: Any, name: str, number: int, *, before: bool) -> None:
    """Let the process die before or after the `number`-th call of a method."""
    inner: Callable[..., Any] = getattr(owner, name)
    calls = 0

    def dying(*arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if before and calls == number:
            os.kill(os.getpid(), signal.SIGKILL)
        value = inner(*arguments, **named)
        if not before and calls == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return value

    setattr(owner, name, dying)


POINTS: dict[str, Callable[[], None]] = {
    "before the row": lambda: on_call(SqliteStore, "plan_step", 2, before=True),
    "after the row": lambda: on_call(SqliteStore, "plan_step", 2, before=False),
    "mid-step": lambda: on_call(torch.optim.AdamW, "step", 3, before=False),
    "in the checkpoint": lambda: on_call(torch, "save", 2, before=False),
    "before the export": lambda: on_call(Registry, "add", 2, before=True),
    "before the publication": lambda: on_call(EmbeddedEngine, "publish", 2, before=True),
    "before the completion": lambda: on_call(SqliteStore, "complete_step", 2, before=True),
}


def die(point: str, folder: Path, policy: Path, url: str) -> None:
    """Train from `folder`'s store until the point comes."""
    POINTS[point]()
    with EmbeddedEngine(url) as engine:
        train(
            make_run(
                folder / "out", policy, SqliteStore(folder / "store.db"), settings(steps=3), engine=engine
            )
        )


if __name__ == "__main__":
    policy, url, root = sys.argv[1:]
    ends = {}
    for point in POINTS:
        # Forked before anything runs, so that torch is imported once for all.
        child = os.fork()
        if child == 0:
            die(point, Path(root) / point, Path(policy), url)
            os._exit(0)
        ends[point] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(json.dumps(ends))
