"""An episode to play, its outcome, and the running counts of outcomes. Plain data, light to import."""

from __future__ import annotations

import time
from collections import Counter
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
    dose: Mapping[str, Any] | None = None
    """What became of the noise that it was assigned, as the gateway tells it; None: nobody asked."""

    @property
    def injected(self) -> int:
        """Injections that the session met."""
        return self._sum_up("injected")

    @property
    def withheld(self) -> int:
        """Noise that was decided for it and could not act."""
        return self._sum_up("withheld")

    def _sum_up(self, what: str) -> int:
        return sum(one[what] for one in (self.dose or {}).get("operators", {}).values())


_DIGITS = {"success": 4, "turns": 2, "tool_calls": 2, "output_tokens": 1, "not_executed": 4}
"""An arm's means, and to how many digits they are given."""


@dataclass(slots=True)
class ArmTally:
    """One arm's counts."""

    episodes: int = 0
    sums: dict[str, float] = field(default_factory=lambda: dict.fromkeys(_DIGITS, 0.0))

    def add(self, played: Playthrough, verdict: Verdict) -> None:
        self.episodes += 1
        self.sums["success"] += verdict.reward
        self.sums["not_executed"] += verdict.components.get("not_executed", 0.0)
        for name in ("turns", "tool_calls", "output_tokens"):
            self.sums[name] += getattr(played, name)

    def summary(self) -> dict[str, Any]:
        """The episodes, and the means of the rest."""
        n = max(1, self.episodes)
        means = {name: round(self.sums[name] / n, digits) for name, digits in _DIGITS.items()}
        return {"episodes": self.episodes, **means}


@dataclass(slots=True)
class ProgressTally:
    """All arms' counts; failures of the infrastructure apart."""

    arms: dict[str, ArmTally] = field(default_factory=dict)
    types: dict[str, ArmTally] = field(default_factory=dict)
    """The noisy arm's, by the noise type that the session's plan drew."""
    errors: Counter[str] = field(default_factory=Counter)
    started: float = field(default_factory=time.monotonic)

    def add(self, record: Record) -> None:
        if record.verdict is None:
            self.errors[record.error or "unknown"] += 1
            return
        tallies = [self.arms.setdefault(record.arm, ArmTally())]
        noise_type = record.plan.get("noise_type")
        if noise_type:
            tallies.append(self.types.setdefault(str(noise_type), ArmTally()))
        for tally in tallies:
            tally.add(record.played, record.verdict)

    @property
    def episodes(self) -> int:
        return sum(arm.episodes for arm in self.arms.values())

    def line(self, event: str) -> dict[str, Any]:
        """One progress line, as JSON data."""
        return {
            "event": event,
            "seconds": round(time.monotonic() - self.started, 2),
            "episodes": self.episodes,
            "errors": self.errors.total(),
            "arms": {name: arm.summary() for name, arm in sorted(self.arms.items())},
            "types": {name: arm.summary() for name, arm in sorted(self.types.items())},
            **({"error_kinds": dict(sorted(self.errors.items()))} if self.errors else {}),
        }
