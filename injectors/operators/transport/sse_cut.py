"""A stream that is cut in the middle of an event."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.faults import Action, Close, Count, Fault, Send, Share, StreamEvent
from crosswind.injectors.operator import operator
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, Recovery, Result, TransportTarget


class CutFault(Fault):
    """The stream is cut after so many events, in the next one, at this share of its bytes."""

    kind = "cut"
    where = "stream"
    after_events: Count
    keep: Share

    def pass_event(self, event: StreamEvent) -> tuple[Action, ...]:
        if event.number < self.after_events:
            return (Send(event.raw),)
        return Send(event.raw[: int(len(event.raw) * self.keep)]), Close()


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
        possible = target.streaming and target.repeatable
        return {"after_events": events, "keep": round(keep, 3)} if cut and possible else None

    def apply(self, target: TransportTarget, draw: Draw) -> Result:
        return Result(CutFault(**draw), f"The stream was cut in its event number {draw['after_events'] + 1}.")
