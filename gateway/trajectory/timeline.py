"""A session in the order of time: the model's turns, and between them the calls of its tool legs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crosswind.gateway.trajectory.record import WIRE, Event, Trajectory, Turn

_CAUSES: Mapping[str, str] = {
    "answered": "tool",
    "injected": "noise",
    "tool_error": "tool",
    "cancelled": "client",
    "unanswered": "link",
    "inside": "noise",
}
"""Who caused what became of a call."""


def is_on_wire(event: Event) -> bool:
    """Whether an event is a tool leg's."""
    return event.anchor.startswith(WIRE)


def order_by_time(found: Trajectory) -> list[Turn | Event]:
    """The turns and the tool legs' events of a session. Turns stay in their order, whatever the clock did."""
    out: list[Turn | Event] = []
    events = sorted(filter(is_on_wire, found.events), key=lambda one: one.created_us)
    for turn in found.turns:
        before = [one for one in events if one.created_us < turn.created_us]
        out += (*before, turn)
        del events[: len(before)]
    return [*out, *events]


def describe_on_wire(event: Event) -> dict[str, Any]:
    """An event of a tool leg, as a person reads it."""
    call = event.slot == ""
    outcome = event.draw.get("outcome", "") if call else "injected" if event.after is not None else "withheld"
    return {
        "link": event.draw.get("link"),
        "tool": event.tool,
        "tool_class": event.tool_class,
        "attempt": event.attempt,
        "operator": event.operator,
        "outcome": outcome,
        "caused_by": _CAUSES.get(str(outcome)) if call else "noise",
        "recovered": bool(event.draw.get("recovered")),
        "before": event.before,
        "after": event.after,
        "note": event.note,
    }
