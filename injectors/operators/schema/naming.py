"""Names of tools: their words, and new names after their pattern."""

from __future__ import annotations

import re
from collections.abc import Container

LONGEST = 64
SHORT = 4
"""Words of up to this many letters aren't abbreviated."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def words(name: str) -> list[str]:
    """The words of a name, in lower case: `mutation_type.findAll` has mutation, type, find, all."""
    return [word.lower() for word in _WORD.findall(name)]


def abbreviated(name: str) -> str:
    """The name with each longer word cut to three letters: `mut_type.find` for `mutation_type.find`."""
    return _WORD.sub(lambda match: match[0] if len(match[0]) <= SHORT else match[0][:3], name)


def suffixed(name: str, suffix: str, taken: Container[str]) -> str | None:
    """The name with the suffix, the name cut where both together are too long. None: it is taken."""
    made = f"{name[: LONGEST - len(suffix)]}{suffix}"
    return None if made in taken else made


def in_style(name: str, more: str) -> str:
    """A further word joined to the name as its own words are: `get_order_history`, `getOrderHistory`."""
    last = re.split(r"[./:]", name)[-1]
    camel = "_" not in last and "-" not in last and re.search(r"[a-z][A-Z]|^[A-Z][a-z]", last)
    if camel:
        return f"{name}{more[:1].upper()}{more[1:]}"
    return f"{name}{'-' if '-' in last else '_'}{more}"
