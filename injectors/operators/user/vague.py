"""Exact words of requests, and vaguer ones; nouns before which an id can be left out."""

from __future__ import annotations

VAGUER: dict[str, str] = {
    "exactly": "",
    "precisely": "",
    "specifically": "",
    "the exact": "the",
    "the precise": "the",
    "the specific": "the",
    "the correct number": "the correct information",
    "the right number": "the right information",
    "the full name": "the name",
    "with my reservation": "",
    "with my booking": "",
    "on my account": "",
    "immediately": "soon",
    "right away": "soon",
    "as soon as possible": "when it suits",
}
"""Lower-case phrase to what is left of it. Only what limits or describes: never what is to be done."""

COMPARED = ("larger", "smaller", "bigger", "longer", "shorter", "newer", "older", "cheaper")
"""`the larger one` is `the other one` where it is left open which."""

NAMED = (
    "account",
    "article",
    "booking",
    "case",
    "customer",
    "flight",
    "invoice",
    "item",
    "order",
    "package",
    "parcel",
    "product",
    "reservation",
    "ticket",
)
"""Nouns that an id follows: `order #W1` is `my order` where the id is withheld."""

DETERMINERS = frozenset({"my", "the", "this", "that", "our", "your", "his", "her", "their"})
