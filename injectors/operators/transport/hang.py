"""A request that is never answered."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.faults import Close, Fault, Milliseconds, Wait
from crosswind.injectors.operator import operator
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, Recovery, Result, TransportTarget

HANGS_MS = (2_000.0, 8_000.0)


class HangFault(Fault):
    """Nothing comes for a while; then the connection is closed."""

    kind = "hang"
    where = "request"
    hang_ms: Milliseconds

    def before_request(self) -> tuple[Wait, Close]:
        return Wait(self.hang_ms / 1000), Close()


@operator(
    "transport.hang",
    site=Site.TRANSPORT,
    recovery=Recovery.RETRY,
    source="beyond the papers; the fault of that name in network fault tools",
    fault=True,
)
class Hang:
    """The request is taken and never answered; after some seconds the connection is closed.

    Severity: the probability that an exchange hangs. It hangs for 2 to 8 s, as likely, unless the client
    gives up before.
    """

    def draw(self, target: TransportTarget, rng: Stream, severity: float) -> Draw | None:
        hangs, time = rng.chance(severity), rng.uniform(*HANGS_MS)
        return {"hang_ms": round(time)} if hangs else None

    def apply(self, target: TransportTarget, draw: Draw) -> Result:
        note = f"Nothing came for {draw['hang_ms']} ms, then the connection was closed."
        return Result(HangFault(**draw), note)
