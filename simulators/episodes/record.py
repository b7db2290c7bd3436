"""An episode to play, its outcome, and the running counts of outcomes. Plain data, light to import."""

from __future__ import annotations

import time
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


@dataclass(slots=True)
class ArmTally:
    """One arm's counts."""

    episodes: int = 0
    successes: float = 0.0
    turns: int = 0
    tool_calls: int = 0
    output_tokens: int = 0
    not_executed: float = 0.0

    def add(self, record: Record, reward: float, components: Mapping[str, float]) -> None:
        self.episodes += 1
        self.successes += reward
        self.turns += record.played.turns
        self.tool_calls += record.played.tool_calls
        self.output_tokens += record.played.output_tokens
        self.not_executed += components.get("not_executed", 0.0)

    def summary(self) -> dict[str, Any]:
        n = max(1, self.episodes)
        return {
            "episodes": self.episodes,
            "success": round(self.successes / n, 4),
            "turns": round(self.turns / n, 2),
            "tool_calls": round(self.tool_calls / n, 2),
            "output_tokens": round(self.output_tokens / n, 1),
            "not_executed": round(self.not_executed / n, 4),
        }


@dataclass(slots=True)
class ProgressTally:
    """All arms' counts; failures of the infrastructure apart."""

    arms: dict[str, ArmTally] = field(default_factory=dict)
    types: dict[str, ArmTally] = field(default_factory=dict)
    """The noisy arm's, by the noise type that the session's plan drew."""
    errors: dict[str, int] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)

    def add(self, record: Record) -> None:
        if record.verdict is None:
            name = record.error or "unknown"
            self.errors[name] = self.errors.get(name, 0) + 1
            return
        tallies = [self.arms.setdefault(record.arm, ArmTally())]
        noise_type = record.plan.get("noise_type")
        if noise_type:
            tallies.append(self.types.setdefault(str(noise_type), ArmTally()))
        for tally in tallies:
            tally.add(record, record.verdict.reward, record.verdict.components)

    @property
    def episodes(self) -> int:
        return sum(arm.episodes for arm in self.arms.values())

    def line(self, event: str) -> dict[str, Any]:
        """One progress line, as JSON data."""
        return {
            "event": event,
            "seconds": round(time.monotonic() - self.started, 2),
            "episodes": self.episodes,
            "errors": sum(self.errors.values()),
            "arms": {name: arm.summary() for name, arm in sorted(self.arms.items())},
            "types": {name: arm.summary() for name, arm in sorted(self.types.items())},
            **({"error_kinds": dict(sorted(self.errors.items()))} if self.errors else {}),
        }
