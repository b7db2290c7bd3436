"""A gateway put together: its parts, what they do only together, and how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from gateway.config import Settings
from gateway.control.curricula import Curricula
from gateway.errors import ServiceError
from gateway.metrics import Metrics, text_of_all
from gateway.opening import now_us
from gateway.profiles import Profiles
from gateway.proxy import Proxy
from gateway.recorder import NotDurable, Recorder
from gateway.safety import NOISE, SWITCH, KillSwitch
from gateway.sessions import Sessions
from gateway.sharing import Sharing
from gateway.trajectory.record import Row, Setting
from gateway.trajectory.store import Store
from gateway.upstreams.replicas import ReplicaState
from gateway.upstreams.upstreams import Upstreams
from gateway.workers.crew import Crew


@dataclass(slots=True)
class Gateway:
    """A gateway's parts: `data` is the data plane, the control plane is made around them all."""

    settings: Settings
    store: Store
    recorder: Recorder
    profiles: Profiles
    sessions: Sessions
    curricula: Curricula
    switch: KillSwitch
    metrics: Metrics
    upstreams: Upstreams
    data: Proxy
    crew: Crew | None = None
    """The other processes, where this one isn't alone."""
    sharing: Sharing | None = None
    _unnamed: count[int] = field(default_factory=count)

    async def next_unnamed(self) -> str:
        """The name of a session that was given none: the number of such sessions so far, so that a run
        repeats.
        """
        number = next(self._unnamed) if self.sharing is None else await self.sharing.number("unnamed")
        return f"unnamed-{number}"

    async def acknowledge(self, rows: Sequence[Row]) -> None:
        """Write rows and wait until they are on disk. ServiceError 503 where they aren't: nothing was written
        then.
        """
        ticket = self.recorder.submit(rows, retry=False)
        try:
            await self.recorder.acknowledged(ticket, self.settings.acknowledge_wait)
        except NotDurable as error:
            raise ServiceError(
                503,
                f"{error}; free space or mend the store, then send it again",
                kind="server_error",
                code="not_durable",
            ) from error

    def set_noise(self, enabled: bool) -> None:
        """The kill switch: memory and file first, the store after. Never refused, and never fails."""
        self.switch.set(enabled)
        self.recorder.offer([Setting(NOISE, SWITCH, {"enabled": enabled}, now_us())])

    async def switch_noise(self, enabled: bool) -> None:
        """The kill switch, here and in all other processes."""
        self.set_noise(enabled)
        if self.crew is not None:
            await self.crew.switch_noise(enabled)

    def hear_noise(self, enabled: bool) -> None:
        """The kill switch as another process set it; the control plane's process writes it down for all."""
        if self.crew is not None and self.crew.number:
            self.switch.hear(enabled)
        else:
            self.set_noise(enabled)

    def problem(self) -> str | None:
        """Why this process isn't in order; None where it is."""
        state = self.recorder.state()
        return f"the store can't be written: {state.last_error}" if state.down else None

    def problems(self) -> list[str]:
        """Why the gateway, all its processes, isn't in order; nothing where it is."""
        own = self.problem()
        return [*([own] if own else []), *(self.crew.troubles() if self.crew else [])]

    def upstream_states(self) -> Mapping[str, Mapping[str, ReplicaState | Mapping[str, Any]]]:
        """How every upstream's replicas fare, as the processes that ask them see it."""
        return self.upstreams.states() if self.crew is None else self.crew.upstreams()

    async def metrics_text(self) -> bytes:
        """The metrics of all processes, in Prometheus' text format."""
        if self.crew is None:
            return self.metrics.text()
        self.metrics.sample()
        crew = self.crew
        return await asyncio.to_thread(
            text_of_all, crew.folder, workers_ready=crew.ready(), worker_restarts=crew.restarts
        )

    async def close(self) -> None:
        """Write what is queued and let go of everything."""
        await self.upstreams.close()
        await self.recorder.aclose()
        self.store.close()
        if self.sharing is not None:
            self.sharing.claims.close()
