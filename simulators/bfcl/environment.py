"""The environment named `bfcl`. Its worker starts with the first use, and again after it has died."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from crosswind.simulators.bfcl.process import Worker
from crosswind.simulators.environment import Environment, Episode, Oracle, Task
from crosswind.simulators.http_environment.environment import HttpEnvironment


class Bfcl:
    """BFCL's entries. Each has its own tools."""

    name = "bfcl"
    waits = True

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._worker: Worker | None = None
        self._served: HttpEnvironment | None = None

    @property
    def _remote(self) -> HttpEnvironment:
        with self._lock:
            if self._served is None or self._worker is None or not self._worker.alive:
                self._worker = Worker()
                self._served = HttpEnvironment(self._worker.url)
            return self._served

    @property
    def instructions(self) -> str:
        return self._remote.instructions

    @property
    def tools(self) -> Sequence[Mapping[str, Any]]:
        return self._remote.tools

    @property
    def repeatable(self) -> Sequence[str]:
        return self._remote.repeatable

    @property
    def read_only(self) -> Sequence[str]:
        return self._remote.read_only

    @property
    def kinds(self) -> Mapping[str, Sequence[str]]:
        return self._remote.kinds

    def tasks(self, split: str, *, kinds: str, seed: int) -> Iterator[Task]:
        return self._remote.tasks(split, kinds=kinds, seed=seed)

    def task(self, task_id: str) -> Task:
        return self._remote.task(task_id)

    def reset(self, task: Task, seed: int) -> Episode:
        return self._remote.reset(task, seed)

    def oracle(self, *, recovers: bool = True, verifies: bool = False) -> Oracle:
        return self._remote.oracle(recovers=recovers, verifies=verifies)

    def stop(self) -> None:
        """End the worker; the next use starts another."""
        with self._lock:
            if self._worker is not None:
                self._worker.stop()


ENVIRONMENT: Environment = Bfcl()
