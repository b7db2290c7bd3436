"""A request that is delivered twice."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from crosswind.injectors.conversation import Site
from crosswind.injectors.faults import Fault, Resend
from crosswind.injectors.operator import operator
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Recovery, Result, TransportTarget


class DuplicateFault(Fault):
    """The request is sent so many times; the first answer counts."""

    kind = "duplicate"
    where = "request"
    times: Annotated[int, Meta(ge=1, le=10)]

    def before_request(self) -> list[Resend]:
        return [Resend()] * (self.times - 1)


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

    def draw(self, target: TransportTarget, rng: SeededRandom, severity: float) -> Draw | None:
        return {"times": 2} if rng.chance(severity) and target.repeatable else None

    def apply(self, target: TransportTarget, draw: Draw) -> Result:
        note = "The request was delivered twice, and the second answer dropped."
        return Result(DuplicateFault(**draw), note)
