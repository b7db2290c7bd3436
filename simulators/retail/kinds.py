"""The kinds of request: how the user words each, what must be read and changed, and what must be told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from crosswind.simulators.draws import Draws
from crosswind.simulators.retail.world import Order, World, address, email, pool

Call = tuple[str, Mapping[str, Any]]
"""A tool's name with its arguments."""


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


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of request. Practised kinds are those that a very small policy can learn."""

    name: str
    wordings: tuple[str, ...]
    goal: Callable[[World, Draws, str], Goal]
    practice: bool = False
    withholds: bool = False
    """True where the user leaves the order's id out and gives it when asked."""


KINDS: dict[str, Kind] = {}


def kind(
    name: str, *wordings: str, practice: bool = False, withholds: bool = False
) -> Callable[[Callable[[World, Draws, str], Goal]], Callable[[World, Draws, str], Goal]]:
    """Register the decorated goal maker (world, draws, split) under the kind's name."""

    def register(goal: Callable[[World, Draws, str], Goal]) -> Callable[[World, Draws, str], Goal]:
        KINDS[name] = Kind(name, wordings, goal, practice, withholds)
        return goal

    return register


def _order(world: World, draws: Draws, *statuses: str) -> Order:
    return draws.choice([order for order in world.orders if not statuses or order.status in statuses])


def _get_order(order: Order) -> Call:
    return "get_order", {"order_id": order.order_id}


def _move(order: Order, allowed: str, tool: str, status: str) -> Goal:
    """A change of status that is due only from the allowed one; refused otherwise, naming the status."""
    values = {"order": order.order_id}
    if order.status != allowed:
        told = {"status": order.status, "refused": "yes", "order": order.order_id}
        return Goal(values, (_get_order(order),), told)
    told = {"status": status, "refused": "", "order": order.order_id}
    change = ("orders", order.order_id, "status", status)
    return Goal(values, (_get_order(order),), told, (tool, {"order_id": order.order_id}), (change,))


def _status(order: Order) -> Goal:
    told = {"status": order.status, "order": order.order_id, "refused": ""}
    return Goal({"order": order.order_id}, (_get_order(order),), told)


@kind(
    "status",
    "What is the status of order {order}?",
    "Please tell me the status of order {order}.",
    "I want to know the status of my order {order}.",
    "Can you check the status of order {order}?",
    practice=True,
)
def status(world: World, draws: Draws, _: str) -> Goal:
    return _status(_order(world, draws))


@kind(
    "amount",
    "What was the total of order {order}?",
    "Please tell me the total of order {order}.",
    "I want to know the total of my order {order}.",
    "Can you check the total of order {order}?",
    practice=True,
)
def amount(world: World, draws: Draws, _: str) -> Goal:
    order = _order(world, draws)
    told = {"number": str(order.total), "order": order.order_id}
    return Goal({"order": order.order_id}, (_get_order(order),), told)


@kind(
    "track",
    "Where is the parcel of order {order}?",
    "Please track the parcel of order {order}.",
    "I want to know where my parcel of order {order} is.",
    "Can you track my parcel of order {order}?",
    practice=True,
)
def track(world: World, draws: Draws, _: str) -> Goal:
    order = _order(world, draws, "shipped", "delivered")
    told = {"city": order.city, "order": order.order_id}
    return Goal({"order": order.order_id}, (("get_tracking", {"order_id": order.order_id}),), told)


@kind(
    "cancel",
    "Cancel order {order}, please.",
    "Please cancel order {order}.",
    "I want to cancel my order {order}.",
    "Can you cancel order {order}?",
    practice=True,
)
def cancel(world: World, draws: Draws, _: str) -> Goal:
    statuses = ("pending",) if draws.chance(0.5) else ("shipped", "delivered")
    return _move(_order(world, draws, *statuses), "pending", "cancel_order", "cancelled")


@kind(
    "return",
    "Return order {order}, please.",
    "Please return order {order}.",
    "I want to return my order {order}.",
    "Can you return order {order}?",
    practice=True,
)
def return_(world: World, draws: Draws, _: str) -> Goal:
    statuses = ("delivered",) if draws.chance(0.5) else ("pending", "shipped")
    return _move(_order(world, draws, *statuses), "delivered", "return_order", "returned")


@kind(
    "price",
    "What is the price of product {product}?",
    "Please tell me the price of product {product}.",
    "I want to know the price of product {product}.",
    "Can you check the price of product {product}?",
    practice=True,
)
def price(world: World, draws: Draws, _: str) -> Goal:
    product = draws.choice(world.products)
    told = {"number": str(product.price), "product_asked": product.product_id}
    return Goal({"product": product.product_id}, (("get_product", {"product_id": product.product_id}),), told)


@kind(
    "withheld",
    "What is the status of my order?",
    "Please tell me the status of my order.",
    "I want to know the status of my order.",
    "Can you check the status of my order?",
    practice=True,
    withholds=True,
)
def withheld(world: World, draws: Draws, _: str) -> Goal:
    return _status(_order(world, draws))


@kind(
    "payment",
    "How did I pay for order {order}?",
    "Which payment method did I use for order {order}?",
)
def payment(world: World, draws: Draws, _: str) -> Goal:
    order = _order(world, draws)
    told = {"payment": order.payment, "order": order.order_id}
    return Goal({"order": order.order_id}, (("get_payment", {"order_id": order.order_id}),), told)


@kind(
    "stock",
    "How many pieces of product {product} are in stock?",
    "Please check the stock of product {product}.",
)
def stock(world: World, draws: Draws, _: str) -> Goal:
    product = draws.choice(world.products)
    told = {"number": str(product.stock), "product_asked": product.product_id}
    return Goal({"product": product.product_id}, (("check_stock", {"product_id": product.product_id}),), told)


@kind(
    "cheapest",
    'Which product of the name "{name}" is the cheapest?',
    'I look for the cheapest product of the name "{name}".',
)
def cheapest(world: World, draws: Draws, _: str) -> Goal:
    name = draws.choice(world.products).name
    best = min((found for found in world.products if found.name == name), key=lambda found: found.price)
    equal = [found for found in world.products if found.name == name and found.price == best.price]
    told = {"number": str(best.price)} | ({"product": best.product_id} if len(equal) == 1 else {})
    return Goal({"name": name}, (("search_products", {"name": name}),), told)


@kind(
    "spending",
    "My email is {email}. How much did I spend on all my orders together?",
    "I am {email}. Please sum up what all my orders cost together.",
)
def spending(world: World, draws: Draws, _: str) -> Goal:
    user = draws.choice(world.users)
    orders = [order for order in world.orders if order.user_id == user.user_id]
    reads: tuple[Call, ...] = (
        ("find_user_by_email", {"email": user.email}),
        ("list_orders", {"user_id": user.user_id}),
        *(_get_order(order) for order in orders),
    )
    return Goal({"email": user.email}, reads, {"number": str(sum(order.total for order in orders))})


@kind(
    "address",
    'Please send order {order} to the address "{address}".',
    'I want the address of order {order} to be "{address}".',
)
def address_(world: World, draws: Draws, _: str) -> Goal:
    order = (
        _order(world, draws, "pending") if draws.chance(0.5) else _order(world, draws, "shipped", "delivered")
    )
    new = address(draws)
    values = {"order": order.order_id, "address": new}
    if order.status != "pending":
        told = {"status": order.status, "refused": "yes", "order": order.order_id}
        return Goal(values, (_get_order(order),), told)
    call = ("change_address", {"order_id": order.order_id, "address": new})
    told = {"address": new, "refused": "", "order": order.order_id}
    changes = (("orders", order.order_id, "address", new),) if new != order.address else ()
    return Goal(values, (_get_order(order),), told, call, changes)


@kind(
    "email",
    "My email is {old}. Please change it to the new email {new}.",
    "I am {old} and want my email to be {new}.",
)
def email_(world: World, draws: Draws, split: str) -> Goal:
    user = draws.choice(world.users)
    taken = {int(found.user_id[2:]) for found in world.users}
    new = email(draws, draws.choice([number for number in pool(split)[:50] if number not in taken]))
    values = {"old": user.email, "new": new}
    call = ("update_email", {"user_id": user.user_id, "email": new})
    told = {"email": new, "refused": ""}
    changes = (("users", user.user_id, "email", new),)
    return Goal(values, (("find_user_by_email", {"email": user.email}),), told, call, changes)


PRACTICE = tuple(found.name for found in KINDS.values() if found.practice)
ALL = tuple(KINDS)
WITHHOLDING = tuple(found.name for found in KINDS.values() if found.withholds)
