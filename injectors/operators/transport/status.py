"""A gateway in between that answers for the other side."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, Recovery, Result, TransportTarget

STATUSES = (500, 502, 503, 504)


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

    def draw(self, target: TransportTarget, rng: Stream, severity: float) -> Draw | None:
        failed, status = rng.chance(severity), rng.choice(STATUSES)
        return {"status": status} if failed else None

    def apply(self, target: TransportTarget, draw: Draw) -> Result:
        settings = {"kind": "status", "where": "request", **draw}
        return Result(settings, f"The request was answered with status {draw['status']} on its way.")
