"""A stream that begins late."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.faults import Delay
from crosswind.injectors.operator import operator
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, Recovery, Result, TransportTarget

UNIT_MS = 2_000.0


@operator(
    "transport.first_token_delay",
    site=Site.TRANSPORT,
    recovery=Recovery.NONE_NEEDED,
    source="beyond the papers; the fault of that name in network fault tools",
)
class FirstTokenDelay:
    """The first event of a stream comes late; the rest as it does.

    Severity: the mean delay in units of 2 s (0.1: 200 ms); a single one is half to one and a half times as
    long.
    """

    def draw(self, target: TransportTarget, rng: Stream, severity: float) -> Draw | None:
        delay = round(UNIT_MS * severity * rng.uniform(0.5, 1.5))
        return {"delay_ms": delay} if target.streaming and delay > 0 else None

    def apply(self, target: TransportTarget, draw: Draw) -> Result:
        note = f"The first event of the stream was held back for {draw['delay_ms']} ms."
        return Result(Delay("stream", **draw), note)
