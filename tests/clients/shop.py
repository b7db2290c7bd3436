"""The dialogue that every client leads: two questions about orders, each with a call and then two at once."""

from __future__ import annotations

import json
from typing import Any

from crosswind.testing import Answer, Call, Dialogue, MessageItem
from tests.clients.scripted import missing, tempted

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


UNKNOWN_RECORD = {"error": "there is no such record"}


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
    """What the client's own tool gives. KeyError for a tool that the client doesn't have."""
    member, table = {
        "get_order": ("order_id", ORDERS),
        "get_user": ("user_id", USERS),
        "get_item": ("item_id", ITEMS),
    }[name]
    return json.dumps(table.get(arguments.get(member, ""), UNKNOWN_RECORD))


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


def policy(dialogue: Dialogue) -> Answer:
    """Looks up what the current question needs, again where a result is damaged, and then answers."""
    said = {in_form(question) for question in range(len(QUESTIONS))} | set(ANSWERS)
    answered = sum(isinstance(item, MessageItem) and item.text in said for item in dialogue.items)
    question = min(answered, len(QUESTIONS) - 1)
    if not dialogue.tools:
        return Answer(dialogue_title(dialogue))
    calls = missing(dialogue, plan(list(ORDERS)[question]), facts, TOOLS)
    if calls:
        # The first time a tempting tool is called beside the true one, later alone.
        others = tempted(dialogue, TOOLS, 2 + 2 * question) if dialogue.forced is None else ()
        alone = others if question or not dialogue.parallel else (*others[:1], *calls, *others[1:])
        # Who asks for JSON gets nothing else: no preamble.
        said = "Let me look that up." if dialogue.schema is None else None
        return Answer(said, alone if others else calls, reasoning="An order is to be looked up first.")
    return Answer(ANSWERS[question] if dialogue.schema is None else in_form(question))


def in_form(question: int) -> str:
    """An answer as the JSON that structured outputs ask for."""
    order = list(ORDERS.values())[question]
    who, what = USERS[order["user_id"]]["name"], ITEMS[order["item_id"]]["title"]
    return json.dumps({"order_id": order["order_id"], "status": order["status"], "who": who, "what": what})


def dialogue_title(dialogue: Dialogue) -> str:
    """The answer to a side call, which has no tools."""
    return "Order status" if any(isinstance(item, MessageItem) for item in dialogue.items) else "Nothing"


def facts(call: Call) -> list[str]:
    """What a record says, each value as it stands in JSON."""
    return [json.dumps(value) for value in json.loads(run_tool(call.name, call.arguments)).values()]
