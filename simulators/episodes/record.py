"""An episode to play, what playing it took, and what became of it. Plain data, light to import."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from crosswind.simulators.environment import Task, Verdict


@dataclass(frozen=True, slots=True)
class Job:
    """One episode to play."""

    task: Task
    episode_seed: int
    """Decides what the task leaves open, such as the user's wording; equal within a group."""
    seed_key: tuple[object, ...]
    """What the sampling seeds are digests of, besides the turn's number."""
    session: Mapping[str, Any]
    """How the session is opened (arm, group, labels and so on)."""


@dataclass(frozen=True, slots=True)
class Playthrough:
    """What an episode took. `error` names the infrastructure's failure that ended it, if one did."""

    turns: int
    tool_calls: int
    output_tokens: int
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """What became of a job. Without a verdict the infrastructure failed, as `error` says: no reward of 0."""

    job: Job
    arm: str
    session_id: str | None = None
    plan: Mapping[str, Any] = field(default_factory=dict)
    played: Playthrough = Playthrough(0, 0, 0)
    verdict: Verdict | None = None
    error: str | None = None
