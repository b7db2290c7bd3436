"""How far a training run is behind the rollouts: its own word, in the store, which the gateway reads.

The run tells what is complete and not taken yet, and up to which time of the store it has looked. What
completed since then is counted on top, so that a long step, or a run that was killed, lags more and more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import orjson

from crosswind.gateway.trajectory.record import Setting
from crosswind.gateway.trajectory.store import TrainingRecord

BACKLOG = "train_backlog"
"""The kind of setting; its name is the run's."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """What a run has left to train on. A group is a session where the run trains on sessions without one."""

    run: str
    position: int
    """The store's time up to which the run has looked."""
    waiting: int
    """Groups that are complete, and not taken."""
    per_step: int
    """Groups that a step takes."""
    alone: bool
    """Whether it trains on sessions that are in no group."""
    labels: Mapping[str, str]
    """What its sessions carry."""
    at_work: bool = True
    """False: the run has ended, and waits for nothing."""

    def to_setting(self, at_us: int) -> Setting:
        return Setting(BACKLOG, self.run, asdict(self), at_us)

    @staticmethod
    def from_setting(setting: Setting) -> Backlog:
        """TypeError where another release wrote it."""
        return Backlog(**setting.value)

    def measure(self, store: TrainingRecord) -> float:
        """The lag, in training steps."""
        came = store.sessions_since(self.position) if self.alone else store.groups_since(self.position)
        return (self.waiting + sum(one.settled for one in came)) / self.per_step

    def takes(self, group_id: str | None, labels: Mapping[str, Any]) -> bool:
        """Whether the run would train on such a session."""
        if labels.get("purpose") == "eval" or (group_id is None) is not self.alone:
            return False
        return all(carries(labels, name, text) for name, text in self.labels.items())


def carries(labels: Mapping[str, Any], name: str, text: str) -> bool:
    """Whether labels have this one. They may be numbers, booleans and null, too; `text` is as JSON writes
    those.
    """
    if name not in labels:
        return False
    value = labels[name]
    return text == (value if isinstance(value, str) else orjson.dumps(value).decode())
