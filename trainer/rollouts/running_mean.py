"""The baseline of sessions that have no group: the mean reward so far, by label and arm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from crosswind.trainer.config.settings import RunningSettings
from crosswind.trainer.rollouts.groups import Rollout


@dataclass(slots=True)
class RunningMeans:
    """By label and arm, how many rewards came and their decayed mean. JSON data both ways: it is kept in the
    checkpoint.
    """

    settings: RunningSettings
    means: dict[str, tuple[int, float]] = field(default_factory=dict)

    @staticmethod
    def from_json(settings: RunningSettings, data: Mapping[str, Any]) -> RunningMeans:
        return RunningMeans(settings, {key: (int(count), float(mean)) for key, (count, mean) in data.items()})

    def to_json(self) -> dict[str, Any]:
        return {key: list(value) for key, value in sorted(self.means.items())}

    def compare(self, rollout: Rollout) -> float | None:
        """The reward less the mean so far (Williams 1992, §4: a reinforcement baseline); None where fewer
        than `minimum` rewards made it.
        """
        count, mean = self.means.get(self._key(rollout), (0, 0.0))
        return rollout.reward - mean if count >= self.settings.minimum else None

    def add(self, rollouts: Sequence[Rollout]) -> None:
        """Take in a step's rewards, once its advantages are known: no reward is compared with itself."""
        for rollout in rollouts:
            key = self._key(rollout)
            count, mean = self.means.get(key, (0, 0.0))
            weight = max(1.0 / (count + 1), 1.0 - self.settings.decay)
            self.means[key] = (count + 1, mean + weight * (rollout.reward - mean))

    def _key(self, rollout: Rollout) -> str:
        label = rollout.session.labels.get(self.settings.label)
        return f"{orjson.dumps(label).decode()} {rollout.arm}"
