"""An answer that comes late."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.faults import Delay
from crosswind.injectors.operator import operator
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, Recovery, Result, TransportTarget

UNIT_MS = 1000.0
"""The mean delay at severity 1, in milliseconds."""

LONGEST_MS = 10_000.0
"""No single delay is longer: clients give up on slow answers, and that would be another fault than this."""

TAIL_SHARE, TAIL_FACTOR = 0.05, 8.0
"""One answer in twenty is eight times as late as the mean of the rest."""


@operator(
    "transport.latency",
    site=Site.TRANSPORT,
    recovery=Recovery.NONE_NEEDED,
    aliases=("latency",),
    source="beyond the papers; the fault of that name in toxiproxy and Envoy",
)
class Latency:
    """A delay before the answer: a constant part, jitter, and a long tail.

    Severity: the mean delay in seconds before the cap (0.1: 100 ms). Half of it is constant, the other half
    exponential jitter, whose mean is eight times as large for one answer in twenty (long tail). At most 10 s.
    """

    def draw(self, target: TransportTarget, rng: Stream, severity: float) -> Draw | None:
        tail = rng.chance(TAIL_SHARE)
        jitter = rng.exponential(1.0) * (TAIL_FACTOR if tail else 1.0) / (1 + TAIL_SHARE * (TAIL_FACTOR - 1))
        delay = round(min(severity * UNIT_MS * (1 + jitter) / 2, LONGEST_MS), 3)
        return {"delay_ms": delay, "tail": tail} if delay > 0 else None

    def apply(self, target: TransportTarget, draw: Draw) -> Result:
        shape = "long tail" if draw["tail"] else "constant part and jitter"
        note = f"The answer on the {target.link} link was held back for {draw['delay_ms']:.0f} ms ({shape})."
        return Result(Delay("response", draw["delay_ms"]), note)
