"""What a client gets in place of a tool's result, by what noise decided."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from crosswind.injectors.engine.calls import NoisyText
from crosswind.injectors.engine.decision import Decision
from crosswind.injectors.engine.faults import LinkDecision
from crosswind.injectors.faults import Close, Fault, Reply, Resend, Send, Wait
from crosswind.injectors.seeded_random import draw_once

REFUSED_SHARE = 0.125
"""The share of failed calls that are refused in the protocol's own way, in place of a result that says so."""


class Failure(msgspec.Struct, frozen=True):
    """What a client gets in place of a true result."""

    kind: Literal["result", "refusal", "status", "close"]
    """`result`: a result that tells of an error. `refusal`: the protocol's own error. `status`: an HTTP
    status from somewhere on the way. `close`: the link is closed."""
    text: str = ""
    status: int = 500
    """The HTTP status that says the same."""
    retry_after_s: int | None = None
    close: Literal["cut", "reset", "end"] = "cut"


def before_delivery(faults: Iterable[LinkDecision]) -> tuple[float, int, Failure | None]:
    """What faults of the link do before a call is delivered: the wait, the copies, and what stands in its
    place."""
    wait_s, copies = 0.0, 0
    for one in faults:
        if one.fault is None or one.fault.where != "request":
            continue
        for action in one.fault.before_request():
            match action:
                case Wait(seconds):
                    wait_s += seconds
                case Resend():
                    copies += 1
                case Close(how):
                    return wait_s, 0, Failure("close", "Connection closed", 502, close=how)
                case Reply(status):
                    retry = 1 if status in ASKS_TO_WAIT else None
                    return wait_s, 0, Failure("status", f"HTTP status {status}", status, retry)
    return wait_s, copies, None


def answering(faults: Iterable[LinkDecision]) -> tuple[LinkDecision, ...]:
    return tuple(one for one in faults if one.fault is not None and one.fault.where != "request")


def after_delivery(faults: Iterable[LinkDecision], body: bytes) -> tuple[float, Failure | None, bytes]:
    """What faults of the link do to an answer: the wait, what stands in its place, and what of it is sent."""
    wait_s = 0.0
    for fault in (one.fault for one in faults):
        if fault is None or fault.where != "response":
            continue
        for action in fault.before_answer():
            if isinstance(action, Close):
                return wait_s, Failure("close", "Connection closed", 502, close=action.how), b""
            wait_s += action.seconds
        cut, sent = _cut(fault, body)
        if cut is not None:
            return wait_s, cut, sent
    return wait_s, None, b""


def _cut(fault: Fault, body: bytes) -> tuple[Failure | None, bytes]:
    sent = bytearray()
    for action in fault.pass_body(body):
        if isinstance(action, Send):
            sent += action.body
        elif isinstance(action, Close):
            return Failure("close", "Connection closed", 502, close=action.how), bytes(sent)
    return None, b""


ASKS_TO_WAIT = frozenset((429, 503))
"""Statuses that come with Retry-After."""
_STATUSES = {
    "tool.timeout": 504,
    "tool.rate_limit": 429,
    "tool.auth_error": 401,
    "tool.server_error": 500,
    "tool.malformed_response": 502,
    "tool.schema_drift": 502,
    "tool.prerequisite": 409,
    "unavailable": 503,
    "uninitialised": 503,
}
"""By operator, or by what an execution failure is."""


def failure_of(noisy: NoisyText) -> Failure:
    """How a call that isn't delivered fails, by the decision that made it fail."""
    made: Decision = noisy.decisions[-1]
    kind = str(made.draw.get("kind", made.operator))
    status = int(kind) if kind.isdecimal() else _STATUSES.get(kind, 500)
    refused = draw_once(f"{made.slot}|form") < REFUSED_SHARE
    retry = 1 + int(draw_once(f"{made.slot}|retry") * 3) if status in ASKS_TO_WAIT else None
    return Failure("refusal" if refused else "result", noisy.text or "", status, retry)
