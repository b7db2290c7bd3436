"""What a serving gateway does for its store by itself: retention, and rewards that no longer come.

Off unless configured. One process of a gateway does it, in a thread beside the loop, in short steps with
pauses between them.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from crosswind.gateway.clock import now_us
from crosswind.gateway.config.settings import Settings
from crosswind.gateway.telemetry.metrics import Metrics
from crosswind.gateway.trajectory.retention import RetentionLimits, prune
from crosswind.gateway.trajectory.store import Store, StoreError

_log = structlog.get_logger("crosswind.housekeeping")

_AT_ONCE = 500


@dataclass(slots=True)
class Housekeeping:
    """Keeps the store within its limits, round after round, from `start` until `stop`."""

    store: Store
    metrics: Metrics
    settings: Callable[[], Settings]
    """The configuration in force: a reload counts from the next round on."""
    forget: Callable[[str], None]
    """Drops a deleted session from memory."""
    _ending: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _task: asyncio.Task[None] | None = field(default=None, init=False)

    def start(self) -> None:
        """Begin the rounds, in the running loop."""
        self._task = asyncio.create_task(self._rounds())

    async def stop(self) -> None:
        """End, after the step that is under way: the store may be closed then."""
        self._ending.set()
        if self._task is not None:
            await self._task

    async def _rounds(self) -> None:
        while not self._ending.is_set():
            try:
                await self.round()
            except StoreError as error:
                _log.error("the store could not be kept in order; next round", error=str(error))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), self.settings().retention.every)

    async def round(self) -> None:
        """One round: expire rewards, then delete what goes beyond the limits. StoreError where that fails."""
        settings, now = self.settings(), now_us()
        if settings.reward_expiry is not None:
            await self._expire(now - int(settings.reward_expiry * 1e6))
        retention = settings.retention
        before_us = None if retention.age is None else now - int(retention.age * 1e6)
        if before_us is not None or retention.size is not None:
            await self._prune(RetentionLimits(before_us, retention.size, retention.all))

    async def _expire(self, before_us: int) -> None:
        total = 0
        while expired := await asyncio.to_thread(self.store.expire_rewards, before_us, _AT_ONCE):
            total += expired
            if self._ending.is_set():
                break
        if total:
            self.metrics.rewards_expired.inc(total)
            _log.info("rewards expired", sessions=total)

    async def _prune(self, limits: RetentionLimits) -> None:
        total, steps = 0, prune(self.store, limits)
        while not self._ending.is_set() and (gone := await asyncio.to_thread(next, steps, None)) is not None:
            for session_id in gone:
                self.forget(session_id)
            total += len(gone)
        if total:
            self.metrics.sessions_pruned.inc(total)
            _log.info("sessions pruned", sessions=total, bytes=await asyncio.to_thread(self.store.used_bytes))
