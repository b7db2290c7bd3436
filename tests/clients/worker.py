"""A client in a process of its own: it reads jobs and writes outcomes, a JSON document a line."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.clients.job import Converse, Job, Outcome

HERE = Path(__file__).parent
ROOT = HERE.parent.parent


class WorkerFailed(Exception):
    """The client, or its process, failed; says how."""


@dataclass(slots=True)
class Worker:
    """A process that is started with the first job, and ends when this one does: its input ends then."""

    command: Callable[[], Sequence[str]]
    environment: dict[str, str]
    _process: subprocess.Popen[str] | None = None

    def client(self, name: str) -> Converse:
        """One of the clients that the process knows."""
        return partial(self._converse, client=name)

    async def _converse(self, job: Job, *, client: str) -> Outcome:
        line = json.dumps({**json.loads(job.as_json()), "client": client})
        said = json.loads(await asyncio.to_thread(self._exchange, line))
        if "error" in said:
            raise WorkerFailed(said["error"])
        return Outcome(said["answers"], said["calls"], said["history"])

    def _exchange(self, line: str) -> str:
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                self.command(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, **self.environment},
            )
        stdin: Any = self._process.stdin
        stdout: Any = self._process.stdout
        print(line, file=stdin, flush=True)
        answer: str = stdout.readline()
        if not answer:
            raise WorkerFailed(f"{self.command()[0]} ended with status {self._process.wait()}")
        return answer
