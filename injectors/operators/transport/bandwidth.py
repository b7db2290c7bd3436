"""A link that carries little."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, Recovery, Result, TransportTarget

SLOWEST = 2048
"""Bytes a second at severity 1."""


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
        where = "stream" if target.streaming else "response"
        settings = {"kind": "drip", "where": where, "bytes_per_s": draw["bytes_per_s"]}
        return Result(settings, f"The answer was passed on at {draw['bytes_per_s']} bytes a second.")
