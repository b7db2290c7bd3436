"""Links that break: no answer, or an answer that ends in its middle."""

from __future__ import annotations

from typing import Literal

from crosswind.injectors.conversation import Site
from crosswind.injectors.faults import (
    Action,
    Close,
    Count,
    Fault,
    Milliseconds,
    Send,
    Share,
    StreamEvent,
    Wait,
)
from crosswind.injectors.operator import operator
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, TransportTarget

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
    effect=Effect.REPLACES,
)
class Hang:
    """The request is taken and never answered; after some seconds the connection is closed.

    Severity: the probability that an exchange hangs. It hangs for 2 to 8 s, as likely, unless the client
    gives up before.
    """

    def draw(self, target: TransportTarget, rng: SeededRandom, severity: float) -> Draw | None:
        hangs, time = rng.chance(severity), rng.uniform(*HANGS_MS)
        return {"hang_ms": round(time)} if hangs else None

    def apply(self, target: TransportTarget, draw: Draw) -> Result:
        note = f"Nothing came for {draw['hang_ms']} ms, then the connection was closed."
        return Result(HangFault(**draw), note)


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
    effect=Effect.REPLACES,
)
class Reset:
    """The connection is closed: before the request is sent on, or after it was answered, as likely.

    Severity: the probability that an exchange is broken off so. On a link to tools only before the request
    is sent on: what was done need not be done again.
    """

    def draw(self, target: TransportTarget, rng: SeededRandom, severity: float) -> Draw | None:
        broken, after = rng.chance(severity), rng.chance(0.5) and target.repeatable
        return {"where": "response" if after else "request"} if broken else None

    def apply(self, target: TransportTarget, draw: Draw) -> Result:
        when = "before the request was sent on" if draw["where"] == "request" else "once the answer was there"
        return Result(ResetFault(**draw), f"The connection was closed {when}.")


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
    effect=Effect.TRUNCATES,
)
class TruncatedBody:
    """A plain answer ends before its end, under the Content-Length of the whole.

    Severity: the probability that an answer is cut so. Between a fifth and nine tenths of it come. Streams
    are left to `transport.sse_cut`, and so are links to tools, where what was done need not be done again.
    """

    def draw(self, target: TransportTarget, rng: SeededRandom, severity: float) -> Draw | None:
        cut, keep = rng.chance(severity), rng.uniform(0.2, 0.9)
        possible = target.repeatable and not target.streaming
        return {"keep": round(keep, 3)} if cut and possible else None

    def apply(self, target: TransportTarget, draw: Draw) -> Result:
        return Result(TruncateFault(**draw), f"The answer ended after {draw['keep']:.0%} of its bytes.")


class CutFault(Fault):
    """The stream is cut after so many events, in the next one, at this share of its bytes."""

    kind = "cut"
    where = "stream"
    after_events: Count
    keep: Share

    def pass_event(self, event: StreamEvent) -> tuple[Action, ...]:
        if event.number < self.after_events:
            return (Send(event.raw),)
        return Send(event.raw[: int(len(event.raw) * self.keep)]), Close()


@operator(
    "transport.sse_cut",
    site=Site.TRANSPORT,
    recovery=Recovery.RETRY,
    source="beyond the papers; the fault of that name in network fault tools",
    effect=Effect.TRUNCATES,
)
class SseCut:
    """A stream is closed in the middle of an event, without its end.

    Severity: the probability that a stream is cut so. One to eight events come before the one that is cut;
    a shorter stream is left alone.
    """

    def draw(self, target: TransportTarget, rng: SeededRandom, severity: float) -> Draw | None:
        cut, events, keep = rng.chance(severity), rng.integer(1, 8), rng.uniform(0.2, 0.9)
        possible = target.streaming and target.repeatable
        return {"after_events": events, "keep": round(keep, 3)} if cut and possible else None

    def apply(self, target: TransportTarget, draw: Draw) -> Result:
        return Result(CutFault(**draw), f"The stream was cut in its event number {draw['after_events'] + 1}.")
