"""The shop's order database: a small one for each task, generated from the task's id, in SQLite.

Order, user and product numbers of the train and the test split come from disjoint pools, so that no id of a
test task was ever seen in training. Every two-digit half of a number occurs in both pools.
"""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from crosswind.simulators.draws import Draws

STATUSES = ("pending", "shipped", "delivered", "cancelled", "returned")
CITIES = (
    "Denver", "Austin", "Boston", "Chicago", "Dallas", "Seattle", "Miami", "Houston", "Phoenix", "Memphis",
    "Tampa", "Omaha",
)  # fmt: skip
CARRIERS = ("UPS", "DHL", "FedEx")
PAYMENTS = ("visa", "paypal", "mastercard", "voucher")
GOODS = ("lamp", "chair", "desk", "kettle", "radio", "clock", "mirror", "shelf")
STREETS = ("Oak Street", "Mill Road", "Park Lane", "Hill Avenue", "Lake Drive", "Elm Court")
NAMES = ("mia", "liam", "noah", "emma", "ava", "lucas", "nora", "owen", "ruby", "theo", "ivy", "hugo")

_SCHEMA = """
create table users (user_id text primary key, name text, email text unique, address text) without rowid;
create table products (product_id text primary key, name text, price integer, stock integer) without rowid;
create table orders (
  order_id text primary key, user_id text, product_id text, quantity integer, status text, total integer,
  address text, payment text, carrier text, city text
) without rowid;
"""
TABLES = {"users": "user_id", "products": "product_id", "orders": "order_id"}

_USERS, _PRODUCTS, _ORDERS = 5, 10, 15


class Customer(NamedTuple):
    user_id: str
    name: str
    email: str
    address: str


class Product(NamedTuple):
    product_id: str
    name: str
    price: int
    """Whole dollars."""
    stock: int


class Order(NamedTuple):
    order_id: str
    user_id: str
    product_id: str
    quantity: int
    status: str
    total: int
    """Whole dollars: price times quantity."""
    address: str
    payment: str
    carrier: str
    city: str
    """Where the parcel is."""


class Shop(NamedTuple):
    """The rows of the database at the beginning of a task."""

    users: tuple[Customer, ...]
    products: tuple[Product, ...]
    orders: tuple[Order, ...]

    def image(self) -> bytes:
        """The database file with this content: built once for a task, opened once for each episode."""
        connection = sqlite3.connect(":memory:", isolation_level=None)
        try:
            connection.executescript(_SCHEMA)
            connection.execute("begin")
            for table, rows in (("users", self.users), ("products", self.products), ("orders", self.orders)):
                marks = ", ".join("?" * len(rows[0]))
                connection.executemany(f"insert into {table} values ({marks})", rows)
            connection.execute("commit")
            return connection.serialize()
        finally:
            connection.close()


def connect(image: bytes) -> sqlite3.Connection:
    """Open a fresh database in memory; the caller may change it and closes it."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.deserialize(image)
    return connection


def pool(split: str) -> tuple[int, ...]:
    """The four-digit numbers of a split: test has those whose halves' sum is a multiple of 5."""
    return _POOLS[split]


def _of_test(number: int) -> bool:
    return (number // 100 + number % 100) % 5 == 0


_POOLS = {
    "train": tuple(number for number in range(10_000) if not _of_test(number)),
    "test": tuple(number for number in range(10_000) if _of_test(number)),
}


def generate(split: str, draws: Draws) -> Shop:
    """Draw a shop. Every status occurs among its orders, and at least two products share a name."""
    numbers = draws.sample(pool(split), _USERS + _PRODUCTS + _ORDERS)
    users = tuple(_user(number, draws) for number in numbers[:_USERS])
    goods = draws.sample(GOODS, 4)
    products = tuple(
        _product(number, goods[position % len(goods)], draws)
        for position, number in enumerate(numbers[_USERS : _USERS + _PRODUCTS])
    )
    orders = tuple(
        _order(
            number,
            STATUSES[position % len(STATUSES)],
            users[position // 3 % len(users)],
            draws.choice(products),
            draws,
        )
        for position, number in enumerate(numbers[_USERS + _PRODUCTS :])
    )
    return Shop(users, products, orders)


def address(draws: Draws) -> str:
    """A street address."""
    return f"{draws.integer(10, 99)} {draws.choice(STREETS)}, {draws.choice(CITIES)}"


def email(draws: Draws, number: int) -> str:
    """An email address that no other user of the shop has: the number is the user's own."""
    return f"{draws.choice(NAMES)}{number:04d}@mail.com"


def _user(number: int, draws: Draws) -> Customer:
    return Customer(f"#U{number:04d}", draws.choice(NAMES).title(), email(draws, number), address(draws))


def _product(number: int, name: str, draws: Draws) -> Product:
    return Product(f"#P{number:04d}", name, draws.integer(10, 49), draws.integer(10, 99))


def _order(number: int, status: str, user: Customer, product: Product, draws: Draws) -> Order:
    quantity = draws.integer(1, 2)
    return Order(
        f"#W{number:04d}", user.user_id, product.product_id, quantity, status, product.price * quantity,
        address(draws), draws.choice(PAYMENTS), draws.choice(CARRIERS), draws.choice(CITIES),
    )  # fmt: skip
