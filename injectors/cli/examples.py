"""A worked example of any operator, made on the spot: what `crosswind noise show` prints."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from crosswind.injectors.conversation import Site, ToolSchema
from crosswind.injectors.faults import Fault, fault_from
from crosswind.injectors.operator import Registered
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import (
    AddedTool,
    Branch,
    InstructionsTarget,
    ModelTarget,
    Target,
    ToolChange,
    ToolClass,
    ToolResultTarget,
    ToolTarget,
    TransportTarget,
    UserTarget,
)
from crosswind.injectors.text.entities import find_protected_spans

USER_TEXT = (
    "Hello, I would like to exchange the blue kettle from order #W2378156 for the larger one. "
    "Please send the confirmation to mia.garcia@example.com before Friday. Thank you for helping me!"
)
INSTRUCTIONS = (
    "You are Mia Garcia, a customer of a shop, and you write to its assistant. You want the status of your "
    "order "
    "#W2378156. Your e-mail address is mia.garcia@example.com. End the talk when you have your answer."
)
TOOL = ToolSchema(
    "get_order",
    "Look an order up. Returns its status and items.",
    {
        "type": "object",
        "properties": {"order_id": {"type": "string", "description": "The specified order's number."}},
        "required": ["order_id"],
    },
)
USER_TOOL = ToolSchema(
    "exchange_item",
    "Exchange an item of an order.",
    {
        "type": "object",
        "properties": {
            "order_id": {"type": "string"},
            "colour": {"type": "string", "enum": ["blue", "green", "red"]},
            "confirmation_email": {"type": "string", "format": "email"},
            "confirm_before": {"type": "string", "format": "date"},
        },
    },
)
TOOLS = (
    TOOL,
    ToolSchema("list_orders", "List the customer's orders.", {"type": "object", "properties": {}}),
    ToolSchema("search_products", "Find products by name.", {"type": "object", "properties": {}}),
)
TOOL_RESULT = json.dumps(
    {
        "order_id": "#W2378156",
        "status": "delivered",
        "items": [{"name": "kettle", "price": 38.5}],
        "total": 38.5,
    }
)
REVIEWS = json.dumps(
    {
        "product": "kettle",
        "reviews": [
            {"stars": 5, "text": "Boils fast and keeps the water warm for an hour. The lid is a bit stiff."},
            {"stars": 3, "text": "It does what it should, but the cord is too short for our kitchen."},
        ],
    }
)
READINGS = json.dumps({"sensor": "kiln-2", "temperature_c": 812.4, "humidity": 31.5, "state": "heating"})
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
    target = sample_for(entry)
    for attempt in range(TRIES):
        stream = SeededRandom(f"example|{entry.name}|{seed}|{attempt}")
        draw = entry.draw({}, target, stream, severity)
        if draw is not None:
            result = entry.apply(target, draw)
            if as_text(result.payload) != as_text(target):
                return Example(as_text(target), as_text(result.payload), result.note)
    return None


def as_text(shown: Target | str | ToolChange | Fault | Mapping[str, Any]) -> str:
    """A target or a payload as text: a tool and a fault as JSON."""
    match shown:
        case str():
            return shown
        case UserTarget() | InstructionsTarget() | ToolResultTarget():
            return shown.text
        case ToolTarget():
            return _as_json(shown.tool)
        case ToolChange():
            place = "" if shown.behind is None else f"behind {shown.behind or 'none'}: "
            return "\n".join([place + _as_json(shown.tool), *(_as_json(tool) for tool in shown.added)])
        case Fault() | Mapping():
            return json.dumps(fault_from(shown).settings())
        case _:
            return ""


def _as_json(tool: ToolSchema | AddedTool) -> str:
    members = {"name": tool.name or "(the same name)", "description": tool.description}
    return json.dumps({**members, "parameters": tool.parameters}, ensure_ascii=False)


def sample_for(entry: Registered) -> Target:
    """The sample on which the operator acts: of its site, in a stream if it can be."""
    *samples, last = [sample(entry.site), sample(entry.site, streaming=False)]
    if isinstance(last, ToolResultTarget):
        samples.append(replace(last, text=REVIEWS, tool="list_reviews", arguments='{"product": "kettle"}'))
        samples.append(replace(last, text=READINGS, tool="read_sensor", arguments='{"sensor": "kiln-2"}'))
    for target in samples:
        if any(entry.draw({}, target, SeededRandom(f"sample|{number}"), 1.0) for number in range(TRIES)):
            return target
    return last


def sample(site: Site, *, streaming: bool = True) -> Target:
    """A target of that site, such as a session of a shop's assistant holds."""
    match site:
        case Site.USER_TEXT:
            tools = (TOOL, USER_TOOL)
            return UserTarget(USER_TEXT, 0, find_protected_spans(USER_TEXT, tools), tools)
        case Site.INSTRUCTIONS:
            return InstructionsTarget(INSTRUCTIONS, 0)
        case Site.TOOL_RESULT:
            arguments = json.dumps({"order_id": "#W2378156"})
            branch = Branch(key="example", opening=USER_TEXT)
            return ToolResultTarget(
                TOOL_RESULT, 0, TOOL.name, arguments, ToolClass.READ_ONLY, 0, TOOLS, branch=branch
            )
        case Site.TRANSPORT:
            return TransportTarget("model", 0, streaming=streaming)
        case Site.TOOL_SCHEMA:
            names = frozenset(tool.name for tool in TOOLS)
            return ToolTarget(TOOL, TOOLS, names, tool_class=ToolClass.READ_ONLY)
        case Site.MODEL_RESPONSE:
            return ModelTarget(0, streaming=streaming)
