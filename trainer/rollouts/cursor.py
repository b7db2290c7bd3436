"""Which groups of a store a run has dealt with: all up to a time, but for those that wait.

A group is dealt with once it was taken, passed over or dropped. What comes after the cursor's position is
looked at once; so neither a poll nor a checkpoint grows with the store.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from itertools import takewhile
from typing import Any

from crosswind.gateway.trajectory.record import GroupProgress
from crosswind.gateway.trajectory.store import TrainingRecord


@dataclass(slots=True)
class GroupCursor:
    """A run's place in the store's groups."""

    position: int = 0
    """The store's time up to which everything that happened was seen."""
    waiting: dict[str, GroupProgress] = field(default_factory=dict)
    """By key, the groups that were seen and not dealt with, by when something last happened in them."""
    consumed: set[str] = field(default_factory=set)
    """Names of groups that were dealt with before they were seen: those of an interrupted step."""

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> GroupCursor:
        waiting = [GroupProgress(**each) for each in data["waiting"]]
        return GroupCursor(data["position"], {one.key: one for one in waiting}, set(data["consumed"]))

    def to_json(self) -> dict[str, Any]:
        waiting = [asdict(one) for one in self.waiting.values()]
        return {"position": self.position, "waiting": waiting, "consumed": sorted(self.consumed)}

    def poll(self, store: TrainingRecord, *, alone: bool = False) -> None:
        """See what has happened since the position: in groups, or in sessions that are in none (`alone`)."""
        changed = store.sessions_since(self.position) if alone else store.groups_since(self.position)
        for group in changed:
            waited = self.waiting.pop(group.key, None) is not None
            # One that was opened before the position and doesn't wait has been dealt with.
            if waited or (group.opened > self.position and group.name not in self.consumed):
                self.waiting[group.key] = group
        self.consumed.difference_update(group.name for group in changed)
        if changed:
            self.position = max(self.position, changed[-1].touched)

    def find_ready(self, stalled_before: int) -> list[GroupProgress]:
        """The groups whose rollouts have all settled, and those with a reward in which nothing has happened
        since a time; in the order of their completion.
        """
        ready = [group for group in self.waiting.values() if group.settled]
        stalled = takewhile(lambda group: group.touched < stalled_before, self.waiting.values())
        ready += [group for group in stalled if group.rewarded and not group.settled]
        return sorted(ready, key=lambda group: (group.completed, group.name))

    def deal_with(self, group: GroupProgress) -> None:
        del self.waiting[group.key]

    def consume(self, names: Iterable[str]) -> None:
        """Groups of these names were dealt with already."""
        gone = set(names)
        found = [group for group in self.waiting.values() if group.name in gone]
        for group in found:
            del self.waiting[group.key]
        self.consumed |= gone.difference(group.name for group in found)
