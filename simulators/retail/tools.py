"""The shop's tools: what the model is told of them, and what they do to a task's database.

Reads are named as reads (get_, list_, search_, find_, check_, calculate_). A write repeated by a cautious
agent changes nothing more: what already holds is confirmed.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Arguments = Mapping[str, Any]
Call = tuple[str, Arguments]
"""A tool's name with its arguments."""
Implementation = Callable[[sqlite3.Connection, Arguments], dict[str, Any]]


DESCRIPTIONS: Mapping[str, str] = {
    "order_id": "The id of the requested order.",
    "product_id": "The id of the requested product.",
    "user_id": "The id of the specified user.",
    "name": "The name to search for.",
    "email": "The email address provided.",
    "address": "The address to be used.",
    "amounts": "The given amounts.",
}
"""What the parameters of each name are, in every tool that has them."""


class ToolError(Exception):
    """The call can't be carried out; the text is what the agent is told."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: its schema and its implementation."""

    name: str
    description: str
    parameters: Mapping[str, str]
    """Parameter names and JSON types; all are required."""
    run: Implementation
    writes: bool = False

    def schema(self) -> dict[str, Any]:
        """The OpenAI tool object."""
        properties: dict[str, Any] = {}
        for name, kind in self.parameters.items():
            properties[name] = {"type": kind, "description": DESCRIPTIONS[name]}
            if kind == "array":
                properties[name]["items"] = {"type": "number"}
        parameters = {"type": "object", "properties": properties, "required": list(self.parameters)}
        function = {"name": self.name, "description": self.description, "parameters": parameters}
        return {"type": "function", "function": function}


def call(connection: sqlite3.Connection, name: str, arguments: str) -> str:
    """Carry out one call and give its result as JSON text; a bad call gives {"error": ...}."""
    if name not in TOOLS:
        return json.dumps({"error": f"there is no tool {name}"})
    try:
        return json.dumps(TOOLS[name].run(connection, _arguments(name, arguments)))
    except ToolError as error:
        return json.dumps({"error": str(error)})


def _arguments(name: str, arguments: str) -> Arguments:
    try:
        values = json.loads(arguments)
        json.dumps(values, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):  # broken JSON, NaN, a lone surrogate, absurd nesting
        raise ToolError("arguments are not JSON") from None
    if not isinstance(values, dict):
        raise ToolError("arguments are not an object")
    for parameter, kind in TOOLS[name].parameters.items():
        if parameter not in values:
            raise ToolError(f"{parameter} is missing")
        if not isinstance(values[parameter], list if kind == "array" else str):
            raise ToolError(f"{parameter} must be of type {kind}")
    return values


def _row(connection: sqlite3.Connection, table: str, key: str, value: str, columns: str) -> dict[str, Any]:
    cursor = connection.execute(f"select {columns} from {table} where {key} = ?", (value,))
    row = cursor.fetchone()
    if row is None:
        raise ToolError(f"{value} not found")
    return {column[0]: cell for column, cell in zip(cursor.description, row, strict=True)}


def _order(columns: str) -> Implementation:
    return lambda db, given: _row(db, "orders", "order_id", given["order_id"], columns)


def _product(columns: str) -> Implementation:
    return lambda db, given: _row(db, "products", "product_id", given["product_id"], columns)


def _get_user(db: sqlite3.Connection, given: Arguments) -> dict[str, Any]:
    return _row(db, "users", "user_id", given["user_id"], "user_id, name, email, address")


def _find_user(db: sqlite3.Connection, given: Arguments) -> dict[str, Any]:
    return _row(db, "users", "email", given["email"], "user_id, email")


def _list_orders(db: sqlite3.Connection, given: Arguments) -> dict[str, Any]:
    _get_user(db, given)
    query = "select order_id from orders where user_id = ? order by order_id"
    ids = [row[0] for row in db.execute(query, (given["user_id"],))]
    return {"user_id": given["user_id"], "count": len(ids), "orders": ids}


def _search_products(db: sqlite3.Connection, given: Arguments) -> dict[str, Any]:
    query = "select product_id, price from products where name = ? order by product_id"
    found = [{"product_id": row[0], "price": row[1]} for row in db.execute(query, (given["name"].lower(),))]
    return {"name": given["name"], "count": len(found), "products": found}


def _calculate_total(_: sqlite3.Connection, given: Arguments) -> dict[str, Any]:
    if not all(
        isinstance(amount, int | float) and not isinstance(amount, bool) for amount in given["amounts"]
    ):
        raise ToolError("amounts must be numbers")
    return {"total": sum(given["amounts"])}


def _move(allowed: str, status: str) -> Implementation:
    """A change of an order's status; the refusal doesn't name the status, which a read gives."""

    def run(db: sqlite3.Connection, given: Arguments) -> dict[str, Any]:
        now = _row(db, "orders", "order_id", given["order_id"], "status")["status"]
        if now not in (allowed, status):
            raise ToolError(f"only {allowed} orders can be {status}")
        if now != status:
            db.execute("update orders set status = ? where order_id = ?", (status, given["order_id"]))
        return {"order_id": given["order_id"], "status": status}

    return run


def _change_address(db: sqlite3.Connection, given: Arguments) -> dict[str, Any]:
    order = _row(db, "orders", "order_id", given["order_id"], "status, address")
    if order["status"] != "pending":
        raise ToolError("only pending orders can be changed")
    if order["address"] != given["address"]:
        db.execute("update orders set address = ? where order_id = ?", (given["address"], given["order_id"]))
    return {"order_id": given["order_id"], "address": given["address"]}


def _update_email(db: sqlite3.Connection, given: Arguments) -> dict[str, Any]:
    user = _get_user(db, given)
    if "@" not in given["email"]:
        raise ToolError("email is not valid")
    try:
        if user["email"] != given["email"]:
            db.execute("update users set email = ? where user_id = ?", (given["email"], given["user_id"]))
    except sqlite3.IntegrityError:
        raise ToolError("email is in use") from None
    return {"user_id": given["user_id"], "email": given["email"]}


_CANCEL = _move("pending", "cancelled")
_RETURN = _move("delivered", "returned")
_BY_ORDER = {"order_id": "string"}
_BY_PRODUCT = {"product_id": "string"}
_BY_USER = {"user_id": "string"}

TOOLS: Mapping[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool("get_order", "Status and total of an order.", _BY_ORDER, _order("order_id, status, total")),
        Tool("cancel_order", "Cancel a pending order.", _BY_ORDER, _CANCEL, writes=True),
        Tool("return_order", "Return a delivered order.", _BY_ORDER, _RETURN, writes=True),
        Tool("get_tracking", "Where a parcel is.", _BY_ORDER, _order("order_id, carrier, city")),
        Tool("get_product", "A product's name and price.", _BY_PRODUCT, _product("product_id, name, price")),
        Tool("get_payment", "How an order was paid.", _BY_ORDER, _order("order_id, payment, total")),
        Tool("check_stock", "Pieces in stock.", _BY_PRODUCT, _product("product_id, stock")),
        Tool("search_products", "Products of a name.", {"name": "string"}, _search_products),
        Tool("find_user_by_email", "A user by email.", {"email": "string"}, _find_user),
        Tool("get_user", "A user's data.", _BY_USER, _get_user),
        Tool("list_orders", "A user's orders.", _BY_USER, _list_orders),
        Tool("calculate_total", "Sum of amounts.", {"amounts": "array"}, _calculate_total),
        Tool("change_address", "Send a pending order elsewhere.", {**_BY_ORDER, "address": "string"},
             _change_address, writes=True),
        Tool("update_email", "Set a user's email.", {**_BY_USER, "email": "string"},
             _update_email, writes=True),
    )
}  # fmt: skip
