"""Phrases of an English sentence with a pair of measures or a key: it is whole without them."""

from __future__ import annotations

import re

from crosswind.injectors.operators.user.values.left_out import UNITS
from crosswind.injectors.operators.user.values.small_words import GO_ON
from crosswind.injectors.operators.user.values.vague.place import (
    Place,
    ends_clause,
    find_next_word,
    find_word_before,
)
from crosswind.injectors.text.word_lists import make_words
from crosswind.injectors.values.mentions import Mention
from crosswind.injectors.values.parameters import ValueType

_LONGEST = 64


_BOTH = re.compile(
    r"(?: (?:with|having|of) (?:an? |the )?(?:[a-z]+ ){0,2}[a-z]+ (?:of )?(?:lengths? )?"
    r"|, (?:[a-z]+ )?[a-z]+ (?:of )?)$"
)
_SECOND = re.compile(
    rf"(?: ?(?:{'|'.join(sorted(UNITS))})\b)?,? and (?:an? |the )?(?:[a-z]+ ){{0,2}}(?:of )?\d+(?:\.\d+)?"
    rf"(?: ?(?:{'|'.join(sorted(UNITS))})\b)?(?! ?[\w%])"
)


_SIDES = make_words("base breadth depth diameter height length radius width")


def find_both(text: str, one: Mention) -> Place | None:
    """Of a pair of measures: `, length 8 and width 3`, ` with legs of 5 and 12`."""
    first, second = _BOTH.search(text, max(0, one.start - 40), one.start), _SECOND.match(text, one.end)
    if one.type is not ValueType.NUMBER or first is None or second is None:
        return None
    stop, plain = second.end(), first[0].startswith(", ")
    noun = find_word_before(text, first.start() + 1)
    measured = plain or re.search(r"\b(?:legs|sides|lengths|axes|edges|radii|diagonals)\b", first[0])
    if not measured or not noun.isalpha() or noun in GO_ON or not ends_clause(text, stop):
        return None
    if plain and _SIDES.isdisjoint(first[0].split()):
        return None
    value = (first.start() + (2 if plain else first[0].index(" ", 1) + 1), stop)
    return Place(first.start(), stop, dropped="", called="dimensions", value=value)


_KEYED = re.compile(
    r"\b(?P<lead>the|my) (?P<noun>[a-z]+(?: [a-z]+)?)(?P<key>,? (?:with|by|under) (?:the |its )?"
    r"(?P<name>id|ID|number|code|ticker|symbol|reference)(?: number)?(?: of| is|:)?) #?$"
)


def find_keyed(text: str, one: Mention) -> Place | None:
    """`the tweet with id 10` is the tweet."""
    found = _KEYED.search(text, max(0, one.start - _LONGEST), one.start)
    if found is None or not (ends_clause(text, one.end) or find_next_word(text, one.end) in GO_ON):
        return None
    name = found["name"].replace("id", "ID")
    called = f"{found['noun']} {name}"
    return Place(found.start("key"), one.end, dropped="", called=called, value=(found.start("name"), one.end))
