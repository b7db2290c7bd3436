"""Running counts of a run's episodes, per arm, as progress lines show them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from crosswind.simulators.episodes.record import Record


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
