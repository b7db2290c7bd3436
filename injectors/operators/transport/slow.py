"""Links that are slow: answers that come late, stop for a while, or trickle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from msgspec import Meta

from crosswind.injectors.conversation import Site
from crosswind.injectors.faults import Action, Count, Delay, Fault, Milliseconds, Send, StreamEvent, Wait
from crosswind.injectors.operator import operator
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, TransportTarget

MEAN_DELAY_MS = 1000.0
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
    effect=Effect.DELAYS,
)
class Latency:
    """A delay before the answer: a constant part, jitter, and a long tail.

    Severity: the mean delay in seconds before the cap (0.1: 100 ms). Half of it is constant, the other half
    exponential jitter, whose mean is eight times as large for one answer in twenty (long tail). At most 10 s.
    """

    def draw(self, target: TransportTarget, rng: SeededRandom, severity: float) -> Draw | None:
        tail = rng.chance(TAIL_SHARE)
        jitter = rng.exponential(1.0) * (TAIL_FACTOR if tail else 1.0) / (1 + TAIL_SHARE * (TAIL_FACTOR - 1))
        delay = round(min(severity * MEAN_DELAY_MS * (1 + jitter) / 2, LONGEST_MS), 3)
        return {"delay_ms": delay, "tail": tail} if delay > 0 else None

    def apply(self, target: TransportTarget, draw: Draw) -> Result:
        shape = "long tail" if draw["tail"] else "constant part and jitter"
        note = f"The answer on the {target.link} link was held back for {draw['delay_ms']:.0f} ms ({shape})."
        return Result(Delay("response", draw["delay_ms"]), note)


MEAN_FIRST_DELAY_MS = 2_000.0


@operator(
    "transport.first_token_delay",
    site=Site.TRANSPORT,
    recovery=Recovery.NONE_NEEDED,
    source="beyond the papers; the fault of that name in network fault tools",
    effect=Effect.DELAYS,
)
class FirstTokenDelay:
    """The first event of a stream comes late; the rest as it does.

    Severity: the mean delay in units of 2 s (0.1: 200 ms); a single one is half to one and a half times as
    long.
    """

    def draw(self, target: TransportTarget, rng: SeededRandom, severity: float) -> Draw | None:
        delay = round(MEAN_FIRST_DELAY_MS * severity * rng.uniform(0.5, 1.5))
        return {"delay_ms": delay} if target.streaming and delay > 0 else None

    def apply(self, target: TransportTarget, draw: Draw) -> Result:
        note = f"The first event of the stream was held back for {draw['delay_ms']} ms."
        return Result(Delay("stream", **draw), note)


SLOWEST_BYTES_PER_S = 2048
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
    effect=Effect.DELAYS,
)
class Bandwidth:
    """The answer is passed on slowly, so many bytes a second and no more.

    Severity: the seconds that 2 KiB take (0.1: 20 KiB/s). A plain body and a stream are slowed alike.
    """

    def draw(self, target: TransportTarget, rng: SeededRandom, severity: float) -> Draw | None:
        return {"bytes_per_s": round(SLOWEST_BYTES_PER_S / severity)} if severity > 0 else None

    def apply(self, target: TransportTarget, draw: Draw) -> Result:
        fault = DripFault("stream" if target.streaming else "response", draw["bytes_per_s"])
        return Result(fault, f"The answer was passed on at {draw['bytes_per_s']} bytes a second.")


MEAN_STALL_MS = 3_000.0


class StallFault(Fault):
    """The stream stops for a while after so many events."""

    kind = "stall"
    where = "stream"
    after_events: Count
    stall_ms: Milliseconds

    def pass_event(self, event: StreamEvent) -> tuple[Action, ...]:
        if event.number != self.after_events:
            return (Send(event.raw),)
        return Wait(self.stall_ms / 1000), Send(event.raw)


@operator(
    "transport.sse_stall",
    site=Site.TRANSPORT,
    recovery=Recovery.NONE_NEEDED,
    source="beyond the papers; the fault of that name in network fault tools",
    effect=Effect.DELAYS,
)
class SseStall:
    """A stream stops after some events and goes on after a while.

    Severity: the mean time for which it stops, in units of 3 s (0.1: 300 ms); a single one is half to one
    and a half times as long. One to eight events come before; a shorter stream is left alone.
    """

    def draw(self, target: TransportTarget, rng: SeededRandom, severity: float) -> Draw | None:
        events, factor = rng.integer(1, 8), rng.uniform(0.5, 1.5)
        stall = round(MEAN_STALL_MS * severity * factor)
        return {"after_events": events, "stall_ms": stall} if target.streaming and stall > 0 else None

    def apply(self, target: TransportTarget, draw: Draw) -> Result:
        after, time = draw["after_events"], draw["stall_ms"]
        return Result(StallFault(**draw), f"The stream stopped for {time} ms after its event number {after}.")
