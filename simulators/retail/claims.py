"""What an answer tells the user: statuses, numbers, places and the like, read out of free text."""

from __future__ import annotations

import re
from collections.abc import Mapping

from crosswind.simulators.retail.world import CITIES, PAYMENTS, STATUSES

Claims = Mapping[str, frozenset[str]]
"""For each kind of claim, what the text says; empty where it says nothing of the kind."""

_REFUSED = re.compile(r"\b(?:cannot|can't|can not|could not|unable to)(?: be)?(?: \w+)?", re.IGNORECASE)
_ID = re.compile(r"#[WPU]\d+")
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_QUOTED = re.compile(r'"([^"]*)"')
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def read(text: str) -> Claims:
    """The claims of a text. What a refusal refuses ("cannot be cancelled") isn't claimed as a status."""
    ids = frozenset(_ID.findall(text))
    emails = frozenset(_EMAIL.findall(text))
    quoted = frozenset(_QUOTED.findall(text))
    rest = _EMAIL.sub(" ", _ID.sub(" ", _QUOTED.sub(" ", text)))
    refused = frozenset({"yes"}) if _REFUSED.search(rest) else frozenset[str]()
    words = set(re.findall(r"[a-z]+", _REFUSED.sub(" ", rest).lower()))
    return {
        "order": frozenset(found for found in ids if found.startswith("#W")),
        "product": frozenset(found for found in ids if found.startswith("#P")),
        "email": emails,
        "address": quoted,
        "refused": refused,
        "status": frozenset(words & set(STATUSES)),
        "city": frozenset(city for city in CITIES if city.lower() in words),
        "payment": frozenset(words & set(PAYMENTS)),
        "number": frozenset(_NUMBER.findall(rest)),
    }


def agree(told: Claims, expected: Mapping[str, str]) -> bool:
    """True if each expected claim is made and is the only one of its kind.

    An id may be left out, since the user knows which order was meant; a wrong one is a wrong answer. An
    expectation of "" is that nothing of the kind is claimed.
    """
    for kind, value in expected.items():
        allowed = {frozenset({value}) if value else frozenset[str]()}
        if kind in ("order", "product_asked"):
            allowed.add(frozenset())
        if told[kind.removesuffix("_asked")] not in allowed:
            return False
    return True
