"""What an attempt is worth: by its exit status, a JSON line, what the task expects, or a checker command."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from crosswind.figures.attempts import Void
from crosswind.studies.chaos.guard import VARIABLE
from crosswind.studies.chaos.processes import CommandNotRun, Ended, run_command
from crosswind.studies.chaos.tasks import Task
from crosswind.verdicts.judge import Judge


@dataclass(frozen=True, slots=True)
class Verdict:
    """Success from 0 to 1, or why there is none."""

    success: float | None
    note: str = ""
    void: Void | None = None
    """Who failed, in the place of the agent; `note` says how."""


class Verifier(Protocol):
    """Judges what an agent that came to its end has left."""

    async def verify(self, task: Task, ended: Ended) -> Verdict: ...


async def decide(task: Task, ended: Ended, verifier: Verifier | None) -> Verdict:
    """An agent that crashed, hung or flooded has failed. Else the verifier decides, then what the task
    expects, then the agent's own last JSON line; without any of them it has succeeded."""
    if wrong := ended.describe():
        return Verdict(0.0, wrong)
    if verifier is not None:
        return await verifier.verify(task, ended)
    if task.expected:
        return _compare(task.expected, ended.output)
    said = read_verdict(ended.output)
    return said if said is not None else Verdict(1.0)


def _compare(expected: Sequence[str], output: str) -> Verdict:
    """Whether the output holds every expected text; case and white space don't matter."""
    found = " ".join(output.split()).casefold()
    missing = [one for one in expected if " ".join(one.split()).casefold() not in found]
    return Verdict(0.0, f"the output lacks {missing[0]!r:.200}") if missing else Verdict(1.0)


def read_verdict(output: str) -> Verdict | None:
    """The verdict in the last line that is a JSON object with `success` or `reward`; None without one.

    One with neither a truth value nor a finite number is no verdict. A reward outside 0 to 1 is cut to it.
    """
    for line in reversed(output.splitlines()):
        if line.lstrip().startswith("{"):
            try:
                document = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(document, dict) and (found := _read_success(document)) is not None:
                return Verdict(found, str(document.get("reason") or "")[:200])
    return None


def _read_success(document: dict[str, Any]) -> float | None:
    for name in ("reward", "success"):
        value = document.get(name)
        # Compared before it is converted: JSON has whole numbers that no float holds.
        if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
            return float(min(1, max(0, value)))
    return None


@dataclass(frozen=True, slots=True)
class JudgeVerifier:
    """Asks a judge model; where that has failed, the attempt is void."""

    judge: Judge

    async def verify(self, task: Task, ended: Ended) -> Verdict:
        said = await self.judge.decide(task.fields, ended.output)
        if said.success is None:
            return Verdict(None, said.note, Void.JUDGE)
        return Verdict(float(said.success), said.note)


@dataclass(frozen=True, slots=True)
class Checker:
    """A command that gets `{"task": …, "output": …}` on its standard input.

    Its last JSON line counts. Without one, exit status 0 is success, and 1 with nothing on its standard error
    is failure. Anything else is a failure of the checker's own, and the attempt is void.
    """

    command: Sequence[str]
    run: str
    timeout_s: float
    most_bytes: int = 16 << 20

    async def verify(self, task: Task, ended: Ended) -> Verdict:
        given = json.dumps({"task": task.fields, "output": ended.output})
        variables = {**os.environ, "CROSSWIND_TASK_ID": task.id, VARIABLE: self.run}
        try:
            checked = await run_command(
                self.command,
                given,
                variables,
                timeout_s=self.timeout_s,
                most_bytes=self.most_bytes,
            )
        except CommandNotRun as error:
            return Verdict(None, str(error), Void.CHECKER)
        if checked.status in (0, 1) and (said := read_verdict(checked.output)) is not None:
            return said
        if checked.status == 0:
            return Verdict(1.0)
        if checked.status == 1 and not checked.errors.strip():
            return Verdict(0.0, "the checker's exit status is 1")
        return Verdict(None, f"the checker {checked.describe()}", Void.CHECKER)
