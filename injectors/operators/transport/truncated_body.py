"""A body that ends too early."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.faults import Close, Fault, Send, Share
from crosswind.injectors.operator import operator
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, Recovery, Result, TransportTarget


class TruncateFault(Fault):
    """A plain body ends after this share of its bytes, under the Content-Length of the whole."""

    kind = "truncate"
    where = "response"
    keep: Share

    def pass_body(self, body: bytes) -> tuple[Send, Close]:
        return Send(body[: int(len(body) * self.keep)]), Close()


@operator(
    "transport.truncated_body",
    site=Site.TRANSPORT,
    recovery=Recovery.RETRY,
    source="beyond the papers; the fault of that name in network fault tools",
    fault=True,
)
class TruncatedBody:
    """A plain answer ends before its end, under the Content-Length of the whole.

    Severity: the probability that an answer is cut so. Between a fifth and nine tenths of it come. Streams
    are left to `transport.sse_cut`, and so are links to tools, where what was done need not be done again.
    """

    def draw(self, target: TransportTarget, rng: Stream, severity: float) -> Draw | None:
        cut, keep = rng.chance(severity), rng.uniform(0.2, 0.9)
        possible = target.repeatable and not target.streaming
        return {"keep": round(keep, 3)} if cut and possible else None

    def apply(self, target: TransportTarget, draw: Draw) -> Result:
        return Result(TruncateFault(**draw), f"The answer ended after {draw['keep']:.0%} of its bytes.")
