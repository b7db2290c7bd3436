"""Begin and end drills, in the process of the control plane. Whatever ends a drill, its end is on record."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from msgspec import structs

from crosswind.gateway.clock import now_us
from crosswind.gateway.errors import ServiceError
from crosswind.gateway.noise.kill_switch import KillSwitch
from crosswind.gateway.recorder.recorder import Recorder
from crosswind.gateway.sessions.drills import Drill, DrillEnd, Drills
from crosswind.gateway.trajectory.record import Row, Setting

_log = structlog.get_logger("crosswind.drill")
_LOOK_EVERY_S = 0.25
GATEWAY = "the gateway"
"""Who ends a drill that nobody ends."""


@dataclass(slots=True)
class DrillControl:
    """The orders about drills, and the watch over the running one."""

    drills: Drills
    switch: KillSwitch
    recorder: Recorder
    acknowledge: Callable[[Sequence[Row]], Awaitable[None]]
    publish: Callable[[Setting], Coroutine[Any, Any, None]]
    """Tells the other processes of a drill's setting, and waits until they have it."""
    run_in_background: Callable[[Coroutine[Any, Any, None]], None]

    async def begin(self, drill: Drill) -> None:
        """Begin a drill once it is on disk. ServiceError 409 while another one runs, or noise is off."""
        self.refuse_second()
        if not self.switch.enabled:
            raise ServiceError(
                409,
                'noise is off, so that a drill could inject nothing; PUT /api/noise {"enabled": true} first',
                code="noise_off",
            )
        setting = drill.setting()
        # Before it is on disk, so that of two orders at once one is refused.
        self.drills.hear(setting)
        try:
            await self.acknowledge([setting])
        except ServiceError:
            del self.drills.known[drill.id]
            raise
        await self.publish(setting)
        _log.warning("a drill begins", drill=drill.id, who=drill.began_by, profile=drill.profile)

    def refuse_second(self) -> None:
        if (running := self.drills.open) is not None:
            raise ServiceError(
                409,
                f"the drill {running.id} is running; end it with POST /api/drills/{running.id}/end, or wait",
                code="drill_running",
            )

    def end(self, end: DrillEnd, reason: str, by: str = GATEWAY) -> None:
        """End the drill, if there is one, in this process at once, and in the others soon."""
        if (setting := self._close(end, reason, by)) is not None:
            self.run_in_background(self.publish(setting))

    async def end_everywhere(self, reason: str, by: str) -> None:
        """End the drill by an order, and wait until it has ended in all processes."""
        if (setting := self._close(DrillEnd.ORDER, reason, by)) is not None:
            await self.publish(setting)

    def _close(self, end: DrillEnd, reason: str, by: str) -> Setting | None:
        drill = self.drills.open
        if drill is None:
            return None
        ended = structs.replace(drill, ended_us=now_us(), ended_by=by, end=end, reason=reason)
        setting = ended.setting()
        self.drills.hear(setting)
        self.recorder.offer([setting])
        _log.warning("a drill ended", drill=drill.id, who=by, reason=reason)
        return setting

    async def run(self) -> None:
        """End the drill when something asks for it."""
        while True:
            self.look()
            await asyncio.sleep(_LOOK_EVERY_S)

    def look(self) -> None:
        """End the drill if its time is over, noise is off, or it reached one of its limits."""
        drill = self.drills.open
        if drill is None:
            return
        spent = self.drills.counts.read(drill.id)
        most, above = drill.max_injections, drill.abort_above
        if self.drills.running is None:
            self.end(DrillEnd.DEADLINE, "its time is over")
        elif not self.switch.enabled:
            self.end(DrillEnd.KILL_SWITCH, "noise was switched off")
        elif above is not None and spent.turns >= drill.least and spent.failed / spent.turns > above:
            self.end(
                DrillEnd.ABORT,
                f"{spent.failed} of {spent.turns} turns of drilled sessions failed, more than {above:g}",
            )
        elif most is not None and (spent.refused or spent.injected >= most):
            self.end(DrillEnd.INJECTIONS, f"it has injected {spent.injected} times, of {most} at most")
