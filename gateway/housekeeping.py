"""Periodic maintenance of the store: retention, and the expiry of missing rewards.

Off by default, except that the ids of deleted sessions are forgotten after a while. One process of a gateway
does this in a thread, in short steps, so that the event loop isn't blocked.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from crosswind.gateway.config.settings import Settings
from crosswind.gateway.telemetry.metrics import Metrics
from crosswind.gateway.trajectory.retention import RetentionLimits, prune
from crosswind.gateway.trajectory.store import Store, StoreError

_log = structlog.get_logger("crosswind.housekeeping")

_BATCH = 500


@dataclass(slots=True)
class Housekeeping:
    """Keeps the store within its limits from `start` until `stop`."""

    store: Store
    metrics: Metrics
    settings: Callable[[], Settings]
    """The current configuration; a reload takes effect in the next round."""
    forget: Callable[[str], None]
    """Drops a deleted session from memory."""
    _stopping: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _task: asyncio.Task[None] | None = field(default=None, init=False)

    def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Stop after the current step; then the store may be closed."""
        self._stopping.set()
        if self._task is not None:
            await self._task

    async def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                await self.run_round()
            except StoreError as error:
                _log.error(
                    "maintenance of the store failed; it is tried again in the next round", error=str(error)
                )
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), self.settings().retention.every)

    async def run_round(self) -> None:
        """Forget deleted ids, expire rewards, then delete sessions beyond the limits. Raises StoreError."""
        settings = self.settings()
        while await asyncio.to_thread(self.store.forget_deleted, settings.retention.deleted_ids, _BATCH):
            pass
        if settings.reward_expiry is not None:
            await self._expire(settings.reward_expiry)
        retention = settings.retention
        if retention.age is not None or retention.size is not None:
            await self._prune(RetentionLimits(retention.age, retention.size, retention.all))

    async def _expire(self, idle_s: float) -> None:
        total = 0
        while expired := await asyncio.to_thread(self.store.expire_rewards, idle_s, _BATCH):
            total += expired
            if self._stopping.is_set():
                break
        if total:
            self.metrics.rewards_expired.inc(total)
            _log.info("rewards expired", sessions=total)

    async def _prune(self, limits: RetentionLimits) -> None:
        total, steps = 0, prune(self.store, limits)
        while (
            not self._stopping.is_set()
            and (deleted := await asyncio.to_thread(next, steps, None)) is not None
        ):
            for session_id in deleted:
                self.forget(session_id)
            total += len(deleted)
        if total:
            self.metrics.sessions_pruned.inc(total)
            _log.info("sessions pruned", sessions=total, bytes=await asyncio.to_thread(self.store.used_bytes))
