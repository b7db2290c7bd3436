"""A worked example of any operator, made on the spot: what `crosswind noise show` prints."""

from __future__ import annotations

import json
from dataclasses import dataclass

from injectors.conversation import Site, ToolSchema
from injectors.entities import protected_spans
from injectors.operator import Registered, Target, ToolClass, ToolResultTarget, TransportTarget, UserTarget
from injectors.streams import Stream

USER_TEXT = (
    "Hello, I would like to exchange the blue kettle from order #W2378156 for the larger one. "
    "Please send the confirmation to mia.garcia@example.com before Friday. Thank you for helping me!"
)
TOOL = ToolSchema("get_order", "Look an order up.", {"properties": {"order_id": {"type": "string"}}})
TOOL_RESULT = json.dumps(
    {
        "order_id": "#W2378156",
        "status": "delivered",
        "items": [{"name": "kettle", "price": 38.5}],
        "total": 38.5,
    }
)
TRIES = 200


@dataclass(frozen=True, slots=True)
class Example:
    """What one draw made of the sample payload. `before` is empty where the operator has no text to act
    on."""

    before: str
    after: str
    note: str


def make(entry: Registered, severity: float, seed: int) -> Example | None:
    """The first effect that the operator has on its sample from this seed on; None where it has none on
    it."""
    target = sample(entry.site)
    if target is None:
        return None
    for attempt in range(TRIES):
        stream = Stream(f"example|{entry.name}|{seed}|{attempt}")
        draw = entry.implementation.draw(target, stream, severity)
        if draw is not None:
            result = entry.implementation.apply(target, draw)
            after = result.payload if isinstance(result.payload, str) else json.dumps(dict(result.payload))
            return Example(getattr(target, "text", ""), after, result.note)
    return None


def sample(site: Site) -> Target | None:
    """A target of that site, such as a session of a shop's assistant holds."""
    match site:
        case Site.USER_TEXT:
            return UserTarget(USER_TEXT, 0, protected_spans(USER_TEXT, (TOOL,)), (TOOL,))
        case Site.TOOL_RESULT:
            arguments = json.dumps({"order_id": "#W2378156"})
            return ToolResultTarget(TOOL_RESULT, 0, TOOL.name, arguments, ToolClass.READ_ONLY, 0, (TOOL,))
        case Site.TRANSPORT:
            return TransportTarget("model", 0)
        case _:
            return None
