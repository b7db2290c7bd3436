"""A stream that stops for a while."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.faults import Action, Count, Fault, Milliseconds, Send, StreamEvent, Wait
from crosswind.injectors.operator import operator
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, Recovery, Result, TransportTarget

UNIT_MS = 3_000.0


class StallFault(Fault):
    """The stream stops for a while after so many events."""

    kind = "stall"
    where = "stream"
    after_events: Count
    stall_ms: Milliseconds

    def pass_event(self, event: StreamEvent) -> tuple[Action, ...]:
        if event.number != self.after_events:
            return (Send(event.raw),)
        return Wait(self.stall_ms / 1000), Send(event.raw)


@operator(
    "transport.sse_stall",
    site=Site.TRANSPORT,
    recovery=Recovery.NONE_NEEDED,
    source="beyond the papers; the fault of that name in network fault tools",
)
class SseStall:
    """A stream stops after some events and goes on after a while.

    Severity: the mean time for which it stops, in units of 3 s (0.1: 300 ms); a single one is half to one
    and a half times as long. One to eight events come before; a shorter stream is left alone.
    """

    def draw(self, target: TransportTarget, rng: Stream, severity: float) -> Draw | None:
        events, factor = rng.integer(1, 8), rng.uniform(0.5, 1.5)
        stall = round(UNIT_MS * severity * factor)
        return {"after_events": events, "stall_ms": stall} if target.streaming and stall > 0 else None

    def apply(self, target: TransportTarget, draw: Draw) -> Result:
        after, time = draw["after_events"], draw["stall_ms"]
        return Result(StallFault(**draw), f"The stream stopped for {time} ms after its event number {after}.")
