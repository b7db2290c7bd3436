"""A stream that is cut in the middle of an event."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.transport.links import repeatable
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, Recovery, Result, TransportTarget


@operator(
    "transport.sse_cut",
    site=Site.TRANSPORT,
    recovery=Recovery.RETRY,
    source="beyond the papers; the fault of that name in network fault tools",
    fault=True,
)
class SseCut:
    """A stream is closed in the middle of an event, without its end.

    Severity: the probability that a stream is cut so. One to eight events come before the one that is cut;
    a shorter stream is left alone.
    """

    def draw(self, target: TransportTarget, rng: Stream, severity: float) -> Draw | None:
        cut, events, keep = rng.chance(severity), rng.integer(1, 8), rng.uniform(0.2, 0.9)
        possible = target.streaming and repeatable(target)
        return {"after_events": events, "keep": round(keep, 3)} if cut and possible else None

    def apply(self, target: TransportTarget, draw: Draw) -> Result:
        settings = {"kind": "cut", "where": "stream", **draw}
        return Result(settings, f"The stream was cut in its event number {draw['after_events'] + 1}.")
