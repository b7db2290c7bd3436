"""The kinds of request: how the user words each, what must be read and changed, and what must be told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from crosswind.simulators.draws import Draws
from crosswind.simulators.retail.tools import Call
from crosswind.simulators.retail.world import Order, Shop, address, email, pool


@dataclass(frozen=True, slots=True)
class Goal:
    """What one task asks for and how it ought to end."""

    values: Mapping[str, str]
    """What the user knows and the wording is filled with."""
    reads: tuple[Call, ...]
    """The calls that gather what the answer needs."""
    told: Mapping[str, str]
    """The claims that the last answer must make, by kind (see `claims`)."""
    write: Call | None = None
    changes: tuple[tuple[str, str, str, str], ...] = ()
    """(table, key, column, value): how the database ends up different. Nothing else may differ."""


GoalMaker = Callable[[Shop, Draws, str], Goal]
"""Draws a goal from a shop; the text is the split."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of request. Practised kinds are those that a very small policy can learn."""

    name: str
    wordings: tuple[str, ...]
    goal: GoalMaker
    practice: bool = False
    withholds: bool = False
    """True where the user leaves the order's id out and gives it when asked."""


def _draw_order(shop: Shop, draws: Draws, *statuses: str) -> Order:
    return draws.choice([order for order in shop.orders if not statuses or order.status in statuses])


def _order_fact(
    tool: str, claim: str, attribute: str, *statuses: str, also: Mapping[str, str] | None = None
) -> GoalMaker:
    """Ask for one attribute of an order, which is told as one claim."""

    def goal(shop: Shop, draws: Draws, _: str) -> Goal:
        order = _draw_order(shop, draws, *statuses)
        told = {claim: str(getattr(order, attribute)), "order": order.order_id, **(also or {})}
        return Goal({"order": order.order_id}, ((tool, {"order_id": order.order_id}),), told)

    return goal


def _product_fact(tool: str, attribute: str) -> GoalMaker:
    """Ask for one number of a product."""

    def goal(shop: Shop, draws: Draws, _: str) -> Goal:
        product = draws.choice(shop.products)
        told = {"number": str(getattr(product, attribute)), "product_asked": product.product_id}
        return Goal({"product": product.product_id}, ((tool, {"product_id": product.product_id}),), told)

    return goal


def _refuse(order: Order, values: Mapping[str, str]) -> Goal:
    """The write isn't allowed: the agent must refuse and name the order's status."""
    told = {"status": order.status, "refused": "yes", "order": order.order_id}
    return Goal(values, (("get_order", {"order_id": order.order_id}),), told)


def _status_change(tool: str, status: str, allowed: str, *refused: str) -> GoalMaker:
    """Change an order's status. Half of the orders have a status from which that is refused."""

    def goal(shop: Shop, draws: Draws, _: str) -> Goal:
        order = _draw_order(shop, draws, *((allowed,) if draws.chance(0.5) else refused))
        values, named = {"order": order.order_id}, {"order_id": order.order_id}
        if order.status != allowed:
            return _refuse(order, values)
        told = {"status": status, "refused": "", "order": order.order_id}
        changes = (("orders", order.order_id, "status", status),)
        return Goal(values, (("get_order", named),), told, (tool, named), changes)

    return goal


def _cheapest(shop: Shop, draws: Draws, _: str) -> Goal:
    name = draws.choice(shop.products).name
    best = min((found for found in shop.products if found.name == name), key=lambda found: found.price)
    equal = [found for found in shop.products if found.name == name and found.price == best.price]
    told = {"number": str(best.price)} | ({"product": best.product_id} if len(equal) == 1 else {})
    return Goal({"name": name}, (("search_products", {"name": name}),), told)


def _spending(shop: Shop, draws: Draws, _: str) -> Goal:
    user = draws.choice(shop.users)
    orders = [order for order in shop.orders if order.user_id == user.user_id]
    reads: tuple[Call, ...] = (
        ("find_user_by_email", {"email": user.email}),
        ("list_orders", {"user_id": user.user_id}),
        *(("get_order", {"order_id": order.order_id}) for order in orders),
    )
    return Goal({"email": user.email}, reads, {"number": str(sum(order.total for order in orders))})


def _address(shop: Shop, draws: Draws, _: str) -> Goal:
    order = _draw_order(shop, draws, *(("pending",) if draws.chance(0.5) else ("shipped", "delivered")))
    new = address(draws)
    values = {"order": order.order_id, "address": new}
    if order.status != "pending":
        return _refuse(order, values)
    call = ("change_address", {"order_id": order.order_id, "address": new})
    told = {"address": new, "refused": "", "order": order.order_id}
    changes = (("orders", order.order_id, "address", new),) if new != order.address else ()
    return Goal(values, (("get_order", {"order_id": order.order_id}),), told, call, changes)


def _email(shop: Shop, draws: Draws, split: str) -> Goal:
    user = draws.choice(shop.users)
    taken = {int(found.user_id[2:]) for found in shop.users}
    new = email(draws, draws.choice([number for number in pool(split)[:50] if number not in taken]))
    values = {"old": user.email, "new": new}
    call = ("update_email", {"user_id": user.user_id, "email": new})
    told = {"email": new, "refused": ""}
    changes = (("users", user.user_id, "email", new),)
    return Goal(values, (("find_user_by_email", {"email": user.email}),), told, call, changes)


_STATUS = _order_fact("get_order", "status", "status", also={"refused": ""})
KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            "status",
            (
                "What is the status of order {order}?",
                "Please tell me the status of order {order}.",
                "I want to know the status of my order {order}.",
                "Can you check the status of order {order}?",
            ),
            _STATUS,
            practice=True,
        ),
        Kind(
            "amount",
            (
                "What was the total of order {order}?",
                "Please tell me the total of order {order}.",
                "I want to know the total of my order {order}.",
                "Can you check the total of order {order}?",
            ),
            _order_fact("get_order", "number", "total"),
            practice=True,
        ),
        Kind(
            "track",
            (
                "Where is the parcel of order {order}?",
                "Please track the parcel of order {order}.",
                "I want to know where my parcel of order {order} is.",
                "Can you track my parcel of order {order}?",
            ),
            _order_fact("get_tracking", "city", "city", "shipped", "delivered"),
            practice=True,
        ),
        Kind(
            "cancel",
            (
                "Cancel order {order}, please.",
                "Please cancel order {order}.",
                "I want to cancel my order {order}.",
                "Can you cancel order {order}?",
            ),
            _status_change("cancel_order", "cancelled", "pending", "shipped", "delivered"),
            practice=True,
        ),
        Kind(
            "return",
            (
                "Return order {order}, please.",
                "Please return order {order}.",
                "I want to return my order {order}.",
                "Can you return order {order}?",
            ),
            _status_change("return_order", "returned", "delivered", "pending", "shipped"),
            practice=True,
        ),
        Kind(
            "price",
            (
                "What is the price of product {product}?",
                "Please tell me the price of product {product}.",
                "I want to know the price of product {product}.",
                "Can you check the price of product {product}?",
            ),
            _product_fact("get_product", "price"),
            practice=True,
        ),
        Kind(
            "withheld",
            (
                "What is the status of my order?",
                "Please tell me the status of my order.",
                "I want to know the status of my order.",
                "Can you check the status of my order?",
            ),
            _STATUS,
            practice=True,
            withholds=True,
        ),
        Kind(
            "payment",
            (
                "How did I pay for order {order}?",
                "Which payment method did I use for order {order}?",
            ),
            _order_fact("get_payment", "payment", "payment"),
        ),
        Kind(
            "stock",
            (
                "How many pieces of product {product} are in stock?",
                "Please check the stock of product {product}.",
            ),
            _product_fact("check_stock", "stock"),
        ),
        Kind(
            "cheapest",
            (
                'Which product of the name "{name}" is the cheapest?',
                'I look for the cheapest product of the name "{name}".',
            ),
            _cheapest,
        ),
        Kind(
            "spending",
            (
                "My email is {email}. How much did I spend on all my orders together?",
                "I am {email}. Please sum up what all my orders cost together.",
            ),
            _spending,
        ),
        Kind(
            "address",
            (
                'Please send order {order} to the address "{address}".',
                'I want the address of order {order} to be "{address}".',
            ),
            _address,
        ),
        Kind(
            "email",
            (
                "My email is {old}. Please change it to the new email {new}.",
                "I am {old} and want my email to be {new}.",
            ),
            _email,
        ),
    )
}

PRACTICE = tuple(found.name for found in KINDS.values() if found.practice)
ALL = tuple(KINDS)
WITHHOLDING = tuple(found.name for found in KINDS.values() if found.withholds)
