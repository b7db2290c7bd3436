"""Plausible values that are false: another word of the same vocabulary, another number of the same size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from crosswind.injectors.streams import Stream

LIFECYCLES = (
    ("draft", "pending", "confirmed", "processed", "shipped", "in transit", "delivered", "returned"),
    ("requested", "open", "assigned", "in progress", "resolved", "closed", "archived"),
    ("scheduled", "boarding", "departed", "landed"),
    ("queued", "running", "finished"),
    ("inactive", "trial", "active", "suspended", "cancelled"),
    ("unpaid", "authorised", "paid", "refunded"),
)
"""What comes after what: an older snapshot of a thing shows an earlier word."""

VOCABULARIES = (
    *LIFECYCLES,
    ("basic_economy", "economy", "premium_economy", "business", "first_class"),
    ("low", "medium", "high", "critical"),
    ("small", "medium", "large"),
    ("black", "white", "red", "green", "blue", "yellow", "grey", "silver"),
    ("north", "east", "south", "west"),
    ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
    ("credit_card", "debit_card", "gift_card", "bank_transfer", "paypal", "visa", "mastercard", "voucher"),
    ("UPS", "DHL", "FedEx", "DPD"),
    (
        *(
            "Austin",
            "Berlin",
            "Boston",
            "Chicago",
            "Dallas",
            "Denver",
            "Houston",
            "Lisbon",
            "London",
            "Madrid",
        ),
        *("Memphis", "Miami", "New York", "Omaha", "Osaka", "Paris", "Phoenix", "Rome", "Seattle", "Tampa"),
    ),
    ("Brazil", "Canada", "France", "Germany", "India", "Italy", "Japan", "Kenya", "Norway", "Spain"),
    ("one_way", "round_trip"),
    ("available", "unavailable"),
    ("yes", "no"),
    ("sunny", "cloudy", "rainy", "snowy", "windy"),
    ("standard", "express", "overnight"),
)
"""Words of one kind each; a list that has an order has neighbours side by side."""


def _by_word(lists: tuple[tuple[str, ...], ...]) -> dict[str, tuple[str, ...]]:
    """The first list that has a word, by the word in lower case."""
    return {word.lower(): words for words in reversed(lists) for word in words}


_BY_WORD, _LIFE_BY_WORD = _by_word(VOCABULARIES), _by_word(LIFECYCLES)


def other(value: Any, peers: Sequence[Any], rng: Stream) -> Any | None:
    """A false value in place of this one, or None where none is at hand. `peers` are the result's other
    values: a text of the same shape among them will do."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        step = rng.integer(1, 3)
        return value - step if value > step and rng.chance(0.5) else value + step
    if isinstance(value, float):
        return _other_float(value, rng)
    if not isinstance(value, str):
        return None
    vocabulary = _BY_WORD.get(value.lower(), ())
    if vocabulary:
        return cased(rng.choice([word for word in vocabulary if word.lower() != value.lower()]), value)
    alike = [peer for peer in peers if isinstance(peer, str) and peer != value and same_shape(peer, value)]
    return rng.choice(alike) if alike else None


def earlier(value: Any) -> Any | None:
    """The word before this one in its lifecycle, or None."""
    vocabulary = _LIFE_BY_WORD.get(value.lower(), ()) if isinstance(value, str) else ()
    at = vocabulary.index(value.lower()) if vocabulary else 0
    return cased(vocabulary[at - 1], value) if at else None


def neighbours(value: str) -> list[str]:
    """The words beside this one in its vocabulary."""
    vocabulary = _BY_WORD.get(value.lower(), ())
    at = [word.lower() for word in vocabulary].index(value.lower()) if vocabulary else 0
    return [cased(word, value) for word in (*vocabulary[max(0, at - 1) : at], *vocabulary[at + 1 : at + 2])]


def cased(word: str, like: str) -> str:
    """The word in the case of another; a name keeps its own."""
    if word != word.lower():
        return word
    if like.isupper():
        return word.upper()
    return word.capitalize() if like[:1].isupper() else word


def same_shape(one: str, two: str) -> bool:
    """Two capital codes of one length, such as OSL and VIE: the only strings that can stand for each other
    without a look at what they mean."""
    return len(one) == len(two) and one.isalpha() and two.isalpha() and one.isupper() and two.isupper()


def _other_float(value: float, rng: Stream) -> float | None:
    factor = rng.uniform(0.5, 0.9) if rng.chance(0.5) else rng.uniform(1.1, 1.6)
    decimals = len(repr(value).partition(".")[2]) if "e" not in repr(value) else 6
    found = round(value * factor, decimals)
    return None if not math.isfinite(found) or found == value else found
