"""An answer to a tool's call that comes as a stream: faults of the link act on its events."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from crosswind.gateway.clock import now_us
from crosswind.gateway.http.request import HttpRequest
from crosswind.gateway.noise.fault_runner import Faults
from crosswind.gateway.tools.leg import Begun, ToolLeg
from crosswind.injectors.faults import Close, Send, StreamEvent, Wait


class FaultyStream:
    """The stream of one call. A fault is on record before the client meets it; one that finds no event to act
    on is said to have done nothing.
    """

    def __init__(
        self, http: HttpRequest, leg: ToolLeg, begun: Begun, record: Callable[[], Awaitable[None]]
    ) -> None:
        self._http, self._leg, self._begun, self._record = http, leg, begun, record
        self._decided = leg.decide_stream(begun)
        self._faults = Faults.of(self._decided)
        self._met: set[str] = set()
        self._number = 0

    def will_close(self, raw: bytes) -> bool:
        """Whether a fault closes the connection at this event."""
        passed = self._faults.pass_event(StreamEvent(raw, self._number))
        return any(isinstance(one, Close) for one in passed.actions)

    async def send(self, raw: bytes) -> bool:
        """Send the next event as the faults leave it; True where the connection was closed."""
        if not self._faults:
            await self._http.chunk(raw)
            return False
        passed = self._faults.pass_event(StreamEvent(raw, self._number))
        self._number += 1
        if new := passed.acting - self._met:
            self._met |= new
            self._note(new, acted=True)
            await self._record()
        for action in passed.actions:
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

    def end(self) -> None:
        """No further event comes."""
        self._note({one.decision.operator for one in self._decided} - self._met, acted=False)
        self._met.update(one.decision.operator for one in self._decided)

    def _note(self, operators: set[str], *, acted: bool) -> None:
        for one in self._decided:
            if one.decision.operator in operators:
                self._leg.add_stream_fault(self._begun, one, now_us(), acted=acted)
