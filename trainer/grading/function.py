"""Rewards of a Python function, which runs in a process of its own and has a deadline."""

from __future__ import annotations

import json
import math
import os
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from tempfile import TemporaryFile
from typing import IO, Any

from crosswind.gateway.trajectory.record import Trajectory
from crosswind.trainer.errors import RunRefused
from crosswind.trainer.grading.grader import Grade, describe_conversation, describe_task
from crosswind.verdicts.function import READY, function_command

_LONGEST = 1 << 20
"""Bytes of an answer."""


class FunctionGrader:
    """Calls `function(task, output)`: the task's id and the session's labels; the conversation as JSON.

    The process stays for further sessions. One that is late, dies or gives something unusable is ended, and
    the next session gets a new one.
    """

    def __init__(self, reference: str, deadline_s: float, import_deadline_s: float = 120.0) -> None:
        """Raises RunRefused where the function can't be found."""
        if (wrong := _check(reference, import_deadline_s)) is not None:
            raise RunRefused(f"--reward: {wrong}")
        self.source = reference
        self._deadline_s = deadline_s
        self._import_deadline_s = import_deadline_s
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] = TemporaryFile()  # noqa: SIM115  (closed by `close`)

    def grade(self, sessions: Sequence[Trajectory]) -> list[Grade]:
        return [self._grade(one) for one in sessions]

    def close(self) -> None:
        self._end_process()
        self._errors.close()

    def _end_process(self) -> None:
        """With all that it has started, which may hold its pipes open."""
        if self._process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with suppress(OSError):  # Something that it didn't read is left.
                pipe.close()
        self._process = None

    def _grade(self, one: Trajectory) -> Grade:
        given = {"task": describe_task(one), "output": describe_conversation(one)}
        # What was written about earlier sessions says nothing about this one, and would fill the disk.
        self._errors.seek(0)
        self._errors.truncate()
        try:
            process = self._process or self._start()
            assert process.stdin is not None
            process.stdin.write(json.dumps(given).encode() + b"\n")
            process.stdin.flush()
            grade = _read_grade(_read_line(process, self._deadline_s, "reward_deadline"))
        except (OSError, ValueError) as error:
            grade = Grade(None, note=str(error))
        if grade.reward is None:
            self._end_process()
            grade = Grade(None, note=self._last_error() or grade.note)
        return grade

    def _start(self) -> subprocess.Popen[bytes]:
        self._process = subprocess.Popen(
            function_command(self.source, READY),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,
        )
        # The deadline is that of a session, and an import may take longer.
        _read_line(self._process, self._import_deadline_s, "reward_import_deadline")
        return self._process

    def _last_error(self) -> str:
        """The last line that the function's process wrote to its standard error."""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1][:300] if lines else ""


def _read_line(process: subprocess.Popen[bytes], deadline_s: float, setting: str) -> bytes:
    """Its next line. ValueError where none comes in time."""
    assert process.stdout is not None
    until, line = time.monotonic() + deadline_s, b""
    while not line.endswith(b"\n"):
        left = until - time.monotonic()
        if left <= 0 or not select.select([process.stdout], [], [], left)[0]:
            raise ValueError(f"no answer within {deadline_s:g} s ({setting})")
        if not (more := process.stdout.read1(1 << 16)):  # type: ignore[attr-defined]
            # Its answers' pipe closes before it writes what broke it.
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, until - time.monotonic()))
            raise ValueError("the process has ended")
        line += more
        if len(line) > _LONGEST:
            raise ValueError(f"the answer is longer than {_LONGEST} bytes")
    return line


def _read_grade(line: bytes) -> Grade:
    """A reward with its components. ValueError where it has none."""
    said: Any = json.loads(line)
    reward = said.get("reward") if isinstance(said, dict) else None
    with suppress(OverflowError):
        if isinstance(reward, bool | int | float) and math.isfinite(reward):
            components = said.get("components")
            return Grade(float(reward), components if isinstance(components, dict) else {})
    raise ValueError(f"no finite reward in {line!r:.200}")


def _check(reference: str, import_deadline_s: float) -> str | None:
    """Why the function can't be called; found out by a process, as it will be called."""
    try:
        tried = subprocess.run(
            function_command(reference),
            input=b"",
            capture_output=True,
            check=False,
            timeout=import_deadline_s,
        )
    except subprocess.TimeoutExpired:
        return f"{reference} wasn't imported within {import_deadline_s:g} s (reward_import_deadline)"
    if tried.returncode == 0:
        return None
    lines = tried.stderr.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"{reference!r} can't be called"
