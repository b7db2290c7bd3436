"""The store protocol: what every trajectory store can do, and how one is found by its URL.

Methods are synchronous: the gateway calls `write` from its one writer thread, the trainer reads from its own process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from gateway.trajectory.record import Row, Session, Setting, Shown, TrainStep, Trajectory, Turn


class StoreError(Exception):
    """The store can't do what was asked; the message names the file or URL and the mend."""


class Store(Protocol):
    """A trajectory store. Opening it migrates its schema; a newer schema than the code's is refused."""

    def write(self, rows: Sequence[Row]) -> None:
        """Write the rows in one transaction, on disk when this returns. Rows of one identity are written once."""
        ...

    def session(self, session_id: str) -> Session | None: ...

    def sessions(
        self, *, group_id: str | None = None, label: Mapping[str, str] | None = None, limit: int = 100, offset: int = 0
    ) -> list[Session]:
        """Sessions, newest first."""
        ...

    def turns(self, session_id: str) -> list[Turn]: ...

    def trajectory(self, session_id: str) -> Trajectory | None: ...

    def ledger(self, session_id: str) -> list[Shown]: ...

    def setting(self, kind: str, name: str) -> Setting | None: ...

    def completed_groups(self, *, exclude: frozenset[str] = frozenset(), limit: int = 1000) -> list[str]:
        """Ids of groups of which all `group_size` sessions are closed and rewarded, in order of completion."""
        ...

    def group(self, group_id: str) -> list[Trajectory]:
        """The group's trajectories, by rollout index."""
        ...

    def plan_step(self, step: TrainStep) -> None:
        """The write-ahead row of a step, durable on return; the row of an unfinished step of that number is kept."""
        ...

    def complete_step(self, step: TrainStep) -> None: ...

    def steps(self, run: str) -> list[TrainStep]: ...

    def counts(self) -> Mapping[str, Any]:
        """Rows per kind (sessions, turns, events, ...), for reports."""
        ...

    def close(self) -> None: ...
