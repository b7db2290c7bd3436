"""An answer to a tool's call that comes as a stream: faults of the link act on its events."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from crosswind.gateway.http.request import HttpRequest
from crosswind.gateway.noise.stream_faults import StreamFaults
from crosswind.gateway.tools.leg import Begun, ToolLeg
from crosswind.injectors.faults import Close, Send, Wait


class FaultyStream:
    """The stream of one call. A fault is on record before the client meets it."""

    def __init__(
        self, http: HttpRequest, leg: ToolLeg, begun: Begun, record: Callable[[], Awaitable[None]]
    ) -> None:
        self._http, self._leg, self._record = http, leg, record
        self._faults = StreamFaults(leg, begun)
        self.will_close = self._faults.will_close
        self.end = self._faults.end

    async def send(self, raw: bytes) -> bool:
        """Send the next event as the faults leave it; True where the connection was closed."""
        actions = self._faults.pass_event(raw)
        if self._leg.has_events:
            await self._record()
        for action in actions:
            match action:
                case Wait(seconds):
                    await asyncio.sleep(seconds)
                case Send(body):
                    await self._http.chunk(body)
                case Close("end"):
                    await self._http.end()
                    return True
                case Close(how):
                    self._http.cut(reset=how == "reset")
                    return True
        return False
