"""A request that arrives twice."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.transport.links import repeatable
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, Recovery, Result, TransportTarget


@operator(
    "transport.duplicated_delivery",
    site=Site.TRANSPORT,
    recovery=Recovery.NONE_NEEDED,
    source="beyond the papers; the fault of that name in network fault tools",
)
class DuplicatedDelivery:
    """The request is sent twice; the first answer counts, and the other one is dropped.

    Severity: the probability that a request is sent twice. Only on the link to the model, where it costs
    tokens and has no other effect.
    """

    def draw(self, target: TransportTarget, rng: Stream, severity: float) -> Draw | None:
        return {"times": 2} if rng.chance(severity) and repeatable(target) else None

    def apply(self, target: TransportTarget, draw: Draw) -> Result:
        settings = {"kind": "duplicate", "where": "request", **draw}
        return Result(settings, "The request was delivered twice, and the second answer dropped.")
