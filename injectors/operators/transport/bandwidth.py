"""A link of low bandwidth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from msgspec import Meta

from crosswind.injectors.conversation import Site
from crosswind.injectors.faults import Action, Fault, Send, StreamEvent, Wait
from crosswind.injectors.operator import operator
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, Recovery, Result, TransportTarget

SLOWEST = 2048
"""Bytes a second at severity 1."""


class DripFault(Fault):
    """The answer is passed on at this rate, in pieces of a tenth of a second."""

    kind = "drip"
    paces = True
    where: Literal["response", "stream"]
    bytes_per_s: Annotated[int, Meta(ge=1)]

    def pass_body(self, body: bytes) -> Iterator[Action]:
        step = max(1, self.bytes_per_s // 10)
        for at in range(0, len(body), step):
            piece = body[at : at + step]
            yield Send(piece)
            yield Wait(len(piece) / self.bytes_per_s)

    def pass_event(self, event: StreamEvent) -> Iterator[Action]:
        return self.pass_body(event.raw)


@operator(
    "transport.bandwidth",
    site=Site.TRANSPORT,
    recovery=Recovery.NONE_NEEDED,
    source="beyond the papers; the fault of that name in network fault tools",
)
class Bandwidth:
    """The answer is passed on slowly, so many bytes a second and no more.

    Severity: the seconds that 2 KiB take (0.1: 20 KiB/s). A plain body and a stream are slowed alike.
    """

    def draw(self, target: TransportTarget, rng: Stream, severity: float) -> Draw | None:
        return {"bytes_per_s": round(SLOWEST / severity)} if severity > 0 else None

    def apply(self, target: TransportTarget, draw: Draw) -> Result:
        fault = DripFault("stream" if target.streaming else "response", draw["bytes_per_s"])
        return Result(fault, f"The answer was passed on at {draw['bytes_per_s']} bytes a second.")
