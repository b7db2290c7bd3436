"""Back-pressure of the trainer: while it lags, no new session is opened that it would train on."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from crosswind.gateway.config.sections import Training
from crosswind.gateway.errors import ServiceError
from crosswind.gateway.trajectory.backlog import BACKLOG, Backlog
from crosswind.gateway.trajectory.record import Session
from crosswind.gateway.trajectory.store import Store, StoreError

_log = structlog.get_logger("crosswind.training")


@dataclass(slots=True, eq=False)
class TrainerLag:
    """How far the runs on this store lag, as of the last look."""

    store: Store
    settings: Callable[[], Training]
    steps: float = 0.0
    """The lag of the run that lags most, in training steps; 0 where none is at work."""
    refused: int = 0
    """Sessions that weren't opened."""
    _behind: list[tuple[Backlog, float]] = field(default_factory=list)
    """The runs that lag more than the limit, with their lags."""

    async def watch(self) -> None:
        """Look again and again, as long as there is a limit."""
        while True:
            try:
                await self.look()
            except (StoreError, TypeError, ValueError) as error:
                _log.error("the trainer's lag can't be read: it counts as none", error=str(error))
                self.steps, self._behind = 0.0, []
            await asyncio.sleep(self.settings().lag_every)

    async def look(self) -> None:
        """Measure the lag. Raises StoreError."""
        limit = self.settings().lag_limit
        found = [] if limit is None else await asyncio.to_thread(self._measure)
        was_behind = bool(self._behind)
        self.steps = max((lag for _, lag in found), default=0.0)
        self._behind = [(run, lag) for run, lag in found if limit is not None and lag > limit]
        if self._behind and not was_behind:
            runs = [run.run for run, _ in self._behind]
            _log.warning("the trainer lags: new training sessions wait", runs=runs, steps=self.steps)
        elif was_behind and not self._behind:
            _log.warning("the trainer has caught up: new training sessions open", steps=self.steps)

    def _measure(self) -> list[tuple[Backlog, float]]:
        runs = [Backlog.from_setting(one) for one in self.store.settings(BACKLOG)]
        return [(run, run.measure(self.store)) for run in runs if run.at_work]

    async def admit(self, session: Session) -> None:
        """Raise ServiceError 429 for a new session that would only wait for a trainer which lags. One of a
        group that has begun is let in: the trainer waits for its group.
        """
        behind = [each for each in self._behind if each[0].takes(session.group_id, session.labels)]
        if not behind or (session.group_id is not None and await self._has_begun(session.group_id)):
            return
        self.refused += 1
        (run, steps), seconds = behind[0], math.ceil(self.settings().retry_after)
        raise ServiceError(
            429,
            f"training run {run.run!r} is {steps:.1f} steps behind, more than train.lag_limit; "
            f"open the session again in {seconds} s",
            kind="rate_limit_error",
            code="trainer_lags",
            headers=[(b"retry-after", str(seconds).encode())],
        )

    async def _has_begun(self, group_id: str) -> bool:
        try:
            return bool(await asyncio.to_thread(self.store.sessions, group_id=group_id, limit=1))
        except StoreError:
            return True
