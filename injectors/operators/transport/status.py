"""An error status from a proxy on the way."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from crosswind.injectors.conversation import Site
from crosswind.injectors.faults import Fault, Reply
from crosswind.injectors.operator import operator
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Recovery, Result, TransportTarget

STATUSES = (500, 502, 503, 504)


class StatusFault(Fault):
    """The request is answered with this status, and isn't sent on."""

    kind = "status"
    where = "request"
    status: Annotated[int, Meta(ge=200, le=599)]

    def before_request(self) -> tuple[Reply]:
        return (Reply(self.status),)


@operator(
    "transport.status",
    site=Site.TRANSPORT,
    recovery=Recovery.RETRY,
    source="beyond the papers; the fault of that name in network fault tools",
    fault=True,
)
class Status:
    """The request isn't sent on, and is answered with status 500, 502, 503 or 504, as likely.

    Severity: the probability that an exchange is answered so.
    """

    def draw(self, target: TransportTarget, rng: SeededRandom, severity: float) -> Draw | None:
        failed, status = rng.chance(severity), rng.choice(STATUSES)
        return {"status": status} if failed else None

    def apply(self, target: TransportTarget, draw: Draw) -> Result:
        note = f"The request was answered with status {draw['status']} on its way."
        return Result(StatusFault(**draw), note)
