"""A provider that stops in the middle of a stream."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.faults import Action, Close, Count, Fault, Send, StreamEvent
from crosswind.injectors.operator import operator
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, ModelTarget, Recovery, Result


class StreamCutFault(Fault):
    """The stream ends after so many events with content, without its end mark."""

    kind = "stream_cut"
    where = "after"
    after_events: Count

    def pass_event(self, event: StreamEvent) -> tuple[Action]:
        return (Send(event.raw) if event.contents <= self.after_events else Close("end"),)


@operator(
    "model.stream_cut",
    site=Site.MODEL_RESPONSE,
    recovery=Recovery.RETRY,
    source="beyond the papers; streams without an end, as users of agent frameworks report them",
    fault=True,
)
class StreamCut:
    """A stream ends after some events with content, without finish reason and end mark.

    Severity: the probability that a stream is cut so. One to twelve events with content come; a shorter
    stream is left alone.
    """

    def draw(self, target: ModelTarget, rng: SeededRandom, severity: float) -> Draw | None:
        cut, events = rng.chance(severity), rng.integer(1, 12)
        return {"after_events": events} if cut and target.streaming else None

    def apply(self, target: ModelTarget, draw: Draw) -> Result:
        note = f"The stream ended after {draw['after_events']} events with content."
        return Result(StreamCutFault(**draw), note)
