"""The scripted agent for the retail domain. It sees what any agent sees: the messages.

It recovers as the noise operators declare that one can: it repeats a read that failed or came back
incomplete, calls another tool where one isn't there, ignores what it did not ask for, looks before it
repeats a write, and asks the user for what it was not told. Without that it is the agent that noise hurts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from crosswind.simulators.environment import Message
from crosswind.simulators.retail.intent import kind_of
from crosswind.simulators.retail.transcript import GaveUp, NextCalls, Transcript

_PATTERNS = {
    "order": re.compile(r"#W\d{4}"),
    "product": re.compile(r"#P\d{4}"),
    "email": re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.\w+"),
    # A name or an address, and no word that the user only speaks of.
    "quoted": re.compile(r'\b(?:word|phrase|it) "[^"]*"|"([^"]+)"'),
}
_QUESTIONS = {
    "order": "What is the order id?",
    "product": "What is the product id?",
    "email": "What is your email?",
    "quoted": "What exactly, please?",
}


class _Ask(Exception):
    """Raised where only the user can tell; the text is the question."""


class RetailOracle:
    """Decides each message from the transcript alone, so that any number of episodes share one instance."""

    def __init__(self, *, recovers: bool = True, verifies: bool = False) -> None:
        self._recovers = recovers
        self._verifies = verifies

    def decide(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()) -> Message:
        seen = Transcript.of(messages, tools, recovers=self._recovers, verifies=self._verifies)
        try:
            text = _PLANS[kind_of(seen.user_texts[0])](seen)
        except NextCalls as following:
            return _call_message(following, len(seen.results))
        except _Ask as question:
            text = str(question)
        except GaveUp:
            text = "Sorry, the shop does not answer."
        return {"role": "assistant", "content": text}


def _call_message(following: NextCalls, made: int) -> Message:
    calls = [
        {
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(dict(arguments))},
        }
        for number, (name, arguments) in enumerate(following.calls, made)
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def _ask_for(seen: Transcript, what: str, position: int = 0) -> str:
    """The entity of that sort that the user named at that position; asks where there is none."""
    hits = (hit for text in seen.user_texts for hit in _PATTERNS[what].findall(text))
    found = _list_meant(filter(None, hits))
    if len(found) > position:
        return str(found[position])
    if not seen.recovers:
        raise GaveUp(_QUESTIONS[what])
    raise _Ask(_QUESTIONS[what])


def _list_meant(said: Iterable[str]) -> list[str]:
    """What the user named, in order. Of two that differ in one character the last one said is meant: the
    other was a slip, which the user has put right."""
    found: list[str] = []
    for one in said:
        slip = next((at for at, other in enumerate(found) if _differ_in_one(one, other)), None)
        if slip is not None:
            found[slip] = one
        elif one not in found:
            found.append(one)
    return list(dict.fromkeys(found))


def _differ_in_one(one: str, other: str) -> bool:
    return len(one) == len(other) and sum(a != b for a, b in zip(one, other, strict=True)) == 1


def _order_status(seen: Transcript, order: str) -> str:
    return str(seen.read("get_order", {"order_id": order}, "status")["status"])


def _fact(what: str, argument: str, tool: str, field: str, answer: str) -> Callable[[Transcript], str]:
    """A plan that reads one field of one thing and tells it."""

    def plan(seen: Transcript) -> str:
        subject = _ask_for(seen, what)
        return answer.format(subject, seen.read(tool, {argument: subject}, field)[field])

    return plan


def _move(allowed: str, tool: str, status: str, verb: str) -> Callable[[Transcript], str]:
    """A plan that changes an order's status where that is allowed."""

    def plan(seen: Transcript) -> str:
        order = _ask_for(seen, "order")
        before = _order_status(seen.until(tool), order)
        if before != allowed:
            return f"Order {order} is {before}, I cannot {verb} it."
        read = ("get_order", {"order_id": order})
        seen.write((tool, {"order_id": order}), read, "status", status)
        return f"Order {order} is {status}."

    return plan


def _sum_spending(seen: Transcript) -> str:
    email = _ask_for(seen, "email")
    user = seen.read("find_user_by_email", {"email": email}, "user_id")["user_id"]
    orders = seen.read("list_orders", {"user_id": user}, "count", "orders")["orders"]
    read = seen.read_all([("get_order", {"order_id": order}) for order in orders], "total")
    amounts = [order["total"] for order in read]
    total = seen.read("calculate_total", {"amounts": amounts}, "total")["total"]
    return f"Your orders cost {total} in all."


def _cheapest(seen: Transcript) -> str:
    name = _ask_for(seen, "quoted")
    found = seen.read("search_products", {"name": name}, "count", "products")["products"]
    best = min(found, key=lambda product: product["price"])
    return f"Product {best['product_id']} is the cheapest, it costs {best['price']}."


def _address(seen: Transcript) -> str:
    order, address = _ask_for(seen, "order"), _ask_for(seen, "quoted")
    status = _order_status(seen, order)
    if status != "pending":
        return f"Order {order} is {status}, I cannot change it."
    call = ("change_address", {"order_id": order, "address": address})
    seen.write(call, call, "address", address)
    return f'Order {order} goes to "{address}".'


def _email(seen: Transcript) -> str:
    old, new = _ask_for(seen, "email"), _ask_for(seen, "email", 1)
    user = seen.read("find_user_by_email", {"email": old}, "user_id")["user_id"]
    seen.write(
        ("update_email", {"user_id": user, "email": new}), ("get_user", {"user_id": user}), "email", new
    )
    return f"Your email is {new}."


_status = _fact("order", "order_id", "get_order", "status", "Order {} is {}.")
_PLANS: Mapping[str, Callable[[Transcript], str]] = {
    "status": _status,
    "withheld": _status,
    "amount": _fact("order", "order_id", "get_order", "total", "Order {} costs {}."),
    "track": _fact("order", "order_id", "get_tracking", "city", "Order {} is in {}."),
    "cancel": _move("pending", "cancel_order", "cancelled", "cancel"),
    "return": _move("delivered", "return_order", "returned", "return"),
    "price": _fact("product", "product_id", "get_product", "price", "Product {} costs {}."),
    "payment": _fact("order", "order_id", "get_payment", "payment", "Order {} was paid by {}."),
    "stock": _fact("product", "product_id", "check_stock", "stock", "Product {} has {} in stock."),
    "cheapest": _cheapest,
    "spending": _sum_spending,
    "address": _address,
    "email": _email,
}
