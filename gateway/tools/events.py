"""The events of a tool leg: what noise did to calls, and what became of each call.

They are data that a shell without a store keeps in a file and delivers later. Their ids make that idempotent.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

import msgspec

from crosswind.gateway.trajectory.record import WIRE, Event
from crosswind.injectors.engine.call_log import CallAttempt
from crosswind.injectors.engine.decision import Injection
from crosswind.injectors.identity import digest, normalise

OUTSIDE_TURNS = -1
"""The turn index of events of the tool leg: which turn they belong to follows from their time."""
CALL = "call"
"""Stands for the operator in an event that says what became of a call."""
LONGEST_TEXT = 100_000
"""Characters of a text that an event keeps."""
_LONGEST_SECRET = 8_192
"""How many characters more it has until it is masked, so that no half of a secret is at its end."""


class Outcome(StrEnum):
    """What became of a call, by who caused it."""

    ANSWERED = "answered"
    """The client got the tool's result; noise may have added to it or reworded it."""
    INJECTED = "injected"
    """The client got no true result because of noise."""
    TOOL_ERROR = "tool_error"
    """The tool, or its server, reported an error of its own."""
    CANCELLED = "cancelled"
    """The client gave the call up."""
    UNANSWERED = "unanswered"
    """The link ended before an answer came."""
    INSIDE = "inside"
    """Noise on the list of tools answered it: no tool of the server was meant."""


Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
"""A number that the store and every JSON reader keep."""


class ToolEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    """One event. Without a slot it says what became of a call."""

    id: str
    session: str
    at_us: Count
    link: str
    """The server's or the API's name."""
    tool: str
    anchor: str
    operator: str
    note: str
    site: str = "tool_result"
    tool_class: str | None = None
    logical_call: str | None = None
    order: Count = 0
    attempt: Count = 0
    slot: str = ""
    severity: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)] = 0.0
    draw: Mapping[str, Any] = {}
    clean_hash: str = ""
    before: str = ""
    after: str | None = None
    recovery: str = ""
    version: Count = 1


def of_injection(
    event_id: str, session: str, at_us: int, link: str, one: Injection, call: CallAttempt | None = None
) -> ToolEvent:
    """The event of what an operator did to a call, or to the list of tools."""
    decision = one.decision
    return ToolEvent(
        id=event_id,
        session=session,
        at_us=at_us,
        link=link,
        tool=one.tool or "",
        anchor=decision.anchor,
        operator=decision.operator,
        note=one.note,
        site=decision.site,
        tool_class=one.tool_class,
        logical_call=decision.logical_call if call is None else call.logical_call,
        order=0 if call is None else call.order,
        attempt=0 if call is None else call.attempt,
        slot=decision.slot,
        severity=decision.severity,
        draw=decision.draw,
        clean_hash=digest(normalise(one.before)),
        before=one.before[: LONGEST_TEXT + _LONGEST_SECRET],
        after=None if one.after is None else one.after[: LONGEST_TEXT + _LONGEST_SECRET],
        recovery=decision.recovery,
        version=decision.version,
    )


def as_row(event: ToolEvent) -> Event:
    """The row of the record. Events of one id become the same row."""
    anchor = event.anchor if event.anchor.startswith(WIRE) else f"{WIRE}{event.anchor}"
    return Event(
        session_id=event.session,
        turn_index=OUTSIDE_TURNS,
        # 48 bits: a number that every JSON reader keeps.
        ordinal=int(digest(event.id)[:12], 16),
        operator=event.operator,
        site=event.site,
        slot=event.slot,
        anchor=anchor,
        logical_call=event.logical_call,
        severity=event.severity,
        draw={**event.draw, "link": event.link, "order": event.order},
        clean_hash=event.clean_hash,
        before=event.before,
        after=event.after,
        recovery=event.recovery,
        note=event.note,
        tool=event.tool or None,
        tool_class=event.tool_class,
        attempt=event.attempt,
        created_us=event.at_us,
        version=event.version,
    )
