"""What an attempt of a known agent is worth, computed by hand from the noise that it met."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from statistics import fmean

from crosswind.figures.attempts import Arm, Attempt
from crosswind.gateway.trajectory.record import Event
from crosswind.injectors import registry
from crosswind.injectors.conversation import Site
from crosswind.injectors.targets import Recovery
from tests.studies.known_agents.playing import Played

_ORDER = re.compile(r"#W\d{4}")


def expect_success(agent: str, attempt: Attempt, played: Played, needs_results: bool) -> float:
    met = played.met(attempt)
    if agent == "dead" or (agent == "lucky" and attempt.sample % 2):
        return 0.0
    if agent == "no-retry" and any(destroys(event) for event in met):
        # Where only calls are judged, it may give up after the last of them.
        return float(not needs_results and attempt.tool_calls == count_clean_calls(agent, attempt, played))
    if agent == "gullible" and needs_results:
        return float(not any(misleads(event) for event in met))
    return 1.0


def destroys(event: Event) -> bool:
    """Whether the event took something of a result, or falsified it."""
    return event.site == Site.TOOL_RESULT and registry.operators()[event.operator].effect.destroys


def misleads(event: Event) -> bool:
    """Whether it takes from a question for an order's status, or from its answer, what it needs."""
    match event.site:
        case Site.TOOL_RESULT:
            return f'"status": "{json.loads(event.before)["status"]}"' not in (event.after or "")
        case Site.USER_TEXT:
            return not {*_ORDER.findall(event.before)} & {*_ORDER.findall(event.after or "")}
        case _:
            return event.recovery == Recovery.OTHER_TOOL


def count_clean_calls(agent: str, attempt: Attempt, played: Played) -> int | None:
    same = (attempt.task, attempt.sample, Arm.CLEAN)
    return next(one.tool_calls for one in played.of(agent) if (one.task, one.sample, one.arm) == same)


def mean_over_tasks(attempts: Sequence[Attempt], values: Sequence[float], arm: Arm) -> float:
    """The mean over tasks of the means of the arm's attempts."""
    by_task: dict[str, list[float]] = {}
    for attempt, value in zip(attempts, values, strict=True):
        if attempt.arm is arm:
            by_task.setdefault(attempt.task, []).append(value)
    return fmean(fmean(mine) for mine in by_task.values())
