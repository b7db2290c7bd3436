"""A gateway put together: its parts, what they do only together, and how it ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

from gateway.config import Settings
from gateway.control.curricula import Curricula
from gateway.errors import ServiceError
from gateway.metrics import Metrics
from gateway.profiles import Profiles
from gateway.proxy import Proxy
from gateway.recorder import NotDurable, Recorder
from gateway.safety import KillSwitch
from gateway.sessions import Sessions
from gateway.trajectory.record import Row
from gateway.trajectory.store import Store
from gateway.upstream import Upstream


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
    upstream: Upstream
    data: Proxy
    _unnamed: count[int] = field(default_factory=count)

    def next_unnamed(self) -> str:
        """The name of a session that was given none: the number of such sessions so far, so that a run
        repeats.
        """
        return f"unnamed-{next(self._unnamed)}"

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

    async def close(self) -> None:
        """Write what is queued and let go of everything."""
        await self.upstream.close()
        await self.recorder.aclose()
        self.store.close()
