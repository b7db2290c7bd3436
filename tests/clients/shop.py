"""The dialogue that every client leads: two questions about orders, each with a call and then two at once."""

from __future__ import annotations

import json
from typing import Any

from tests.clients.upstream import Answer, Call, Dialogue, Said

ORDERS = {
    "W17": {"order_id": "W17", "status": "shipped", "user_id": "U4", "item_id": "I9"},
    "W18": {"order_id": "W18", "status": "delayed", "user_id": "U5", "item_id": "I3"},
}
USERS = {"U4": {"user_id": "U4", "name": "Ada"}, "U5": {"user_id": "U5", "name": "Grace"}}
ITEMS = {"I9": {"item_id": "I9", "title": "lamp"}, "I3": {"item_id": "I3", "title": "desk"}}

SYSTEM = "You answer questions about orders. Look everything up before you answer."
QUESTIONS = (
    "Please tell me where order W17 is, who ordered it, and what is in it.",
    "Thank you. And what about order W18, the one that was to come on Monday?",
)
ANSWERS = (
    "Order W17 of Ada with the lamp is shipped.",
    "Order W18 of Grace with the desk is delayed.",
)
MAX_TRIES = 8


def schema(member: str, description: str) -> dict[str, Any]:
    """A tool's parameters: strict ones."""
    properties = {member: {"type": "string", "description": description}}
    return {"type": "object", "properties": properties, "required": [member], "additionalProperties": False}


TOOLS: dict[str, tuple[str, dict[str, Any]]] = {
    "get_order": ("Look up an order by its id.", schema("order_id", "The order's id, such as W17.")),
    "get_user": ("Look up a user by their id.", schema("user_id", "The user's id, such as U4.")),
    "get_item": ("Look up an item by its id.", schema("item_id", "The item's id, such as I9.")),
}
"""Name -> description, parameters."""


def run_tool(name: str, arguments: dict[str, Any]) -> str:
    """What the client's own tool gives. KeyError for a tool or an id that the client doesn't have."""
    member, table = {
        "get_order": ("order_id", ORDERS),
        "get_user": ("user_id", USERS),
        "get_item": ("item_id", ITEMS),
    }[name]
    return json.dumps(table[arguments[member]])


def plan(order_id: str) -> tuple[tuple[Call, ...], ...]:
    """What has to be looked up for an order: one call, then two at once."""
    order = ORDERS[order_id]
    return (
        (Call("get_order", {"order_id": order_id}),),
        (
            Call("get_user", {"user_id": order["user_id"]}),
            Call("get_item", {"item_id": order["item_id"]}),
        ),
    )


class GaveUp(Exception):
    """A call was damaged again and again: the noise left the task without a way to do it."""


def policy(dialogue: Dialogue) -> Answer:
    """Looks up what the current question needs, again where a result is damaged, and then answers."""
    answered = sum(isinstance(item, Said) and item.text in ANSWERS for item in dialogue.items)
    question = min(answered, len(QUESTIONS) - 1)
    if not dialogue.tools:
        return Answer(dialogue_title(dialogue))
    for stage in plan(list(ORDERS)[question]):
        missing = tuple(call for call in stage if not known(dialogue, call))
        if missing:
            if not dialogue.parallel:
                missing = missing[:1]
            return Answer("Let me look that up.", missing, reasoning="An order is to be looked up first.")
    return Answer(ANSWERS[question])


def dialogue_title(dialogue: Dialogue) -> str:
    """The answer to a side call, which has no tools."""
    return "Order status" if any(isinstance(item, Said) for item in dialogue.items) else "Nothing"


def known(dialogue: Dialogue, call: Call) -> bool:
    """Whether a call's result came, undamaged: every fact in it is the true one."""
    given = [
        result.text
        for asked, result in dialogue.results_of(call.name)
        if json.loads(asked.arguments) == call.arguments
    ]
    if len(given) > MAX_TRIES:
        raise GaveUp(f"{call} has no true result after {MAX_TRIES} tries: {given}")
    truth = json.loads(run_tool(call.name, call.arguments))
    return any(all(json.dumps(value) in text for value in truth.values()) for text in given)
