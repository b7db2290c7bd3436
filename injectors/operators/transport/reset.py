"""A connection that is closed without an answer."""

from __future__ import annotations

from typing import Literal

from crosswind.injectors.conversation import Site
from crosswind.injectors.faults import Close, Fault
from crosswind.injectors.operator import operator
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, Recovery, Result, TransportTarget


class ResetFault(Fault):
    """The connection is reset without an answer."""

    kind = "reset"
    where: Literal["request", "response"]

    def before_request(self) -> tuple[Close]:
        return (Close("reset"),)

    def before_answer(self) -> tuple[Close]:
        return (Close("reset"),)


@operator(
    "transport.reset",
    site=Site.TRANSPORT,
    recovery=Recovery.RETRY,
    source="beyond the papers; the fault of that name in network fault tools",
    fault=True,
)
class Reset:
    """The connection is closed: before the request is sent on, or after it was answered, as likely.

    Severity: the probability that an exchange is broken off so. On a link to tools only before the request
    is sent on: what was done need not be done again.
    """

    def draw(self, target: TransportTarget, rng: Stream, severity: float) -> Draw | None:
        broken, after = rng.chance(severity), rng.chance(0.5) and target.repeatable
        return {"where": "response" if after else "request"} if broken else None

    def apply(self, target: TransportTarget, draw: Draw) -> Result:
        when = "before the request was sent on" if draw["where"] == "request" else "once the answer was there"
        return Result(ResetFault(**draw), f"The connection was closed {when}.")
