"""Phrases of an English sentence with a limit, a pair of measures or a key: it is whole without them."""

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

_LIMITED = (
    r"(?:of )?(?:at (?:least|most)|above|below|over|under|beneath|up to|exceeding|no (?:more|less|fewer) than"
    r"|not more than|(?:more|less|fewer|greater|higher|lower|larger|bigger|smaller|cheaper|longer|shorter"
    r"|older|younger|heavier|lighter|better) than)"
)
_WORD = r"(?!(?:that|which|who)\b)[a-z]+"
_NUMBERS = (ValueType.NUMBER, ValueType.MONEY, ValueType.DURATION)
_CLAUSE = re.compile(
    rf",? (?:(?:with|having) (?:an? |the )?(?:{_WORD} ){{0,2}}?(?P<noun>{_WORD}) {_LIMITED}"
    r"|(?:that|which|who) (?:doesn['’]t |does not |don['’]t )?"
    r"(?P<verb>takes?|costs?|charges?|lasts?|weighs?|is|are|has|have|earns?|runs?)"
    rf"(?: rated| priced)? (?P<limit>{_LIMITED})"
    rf"|(?P<within>in) (?:less than|under|no more than|at most)) [$€£]?$",
    re.IGNORECASE,
)
_REST = re.compile(
    r"(?: ?%| (?:[a-z]+ )?(?:%UNITS|stars?|years?|people|percent|rooms?|hours?|minutes?|days?))?"
    r"(?: (?:a|an|per|each) (?:hour|day|night|month|week|year|person|kg|piece)| or (?:more|less|higher|lower)"
    r"| long| in length| old| tall)?".replace("%UNITS", "|".join(sorted(UNITS)))
)
_CALLED = {"take": "time limit", "cost": "price limit", "charge": "price limit", "last": "maximum length"}
_LONGEST = 64


def find_limit(text: str, one: Mention) -> Place | None:
    """The place of what limits the words before it: `that takes less than 30 minutes`."""
    if one.type not in _NUMBERS:
        return None
    found = _CLAUSE.search(text, max(0, one.start - _LONGEST), one.start)
    rest = _REST.match(text, one.end)
    stop = one.end if rest is None else rest.end()
    if found is None or not (
        ends_clause(text, stop) or find_next_word(text, stop) in GO_ON - {"and", "or", "than"}
    ):
        return None
    if (
        not text[found.start() - 1 : found.start()].isalpha()
        or find_word_before(text, found.start() + 1) in GO_ON
    ):
        return None
    verb = (found["verb"] or "").removesuffix("s")
    called = found["noun"] or ("time limit" if found["within"] else _CALLED.get(verb))
    called = called or ("maximum length" if one.type is ValueType.DURATION else "limit")
    if called in ("one", "maximum", "minimum", "least", "most"):
        return None
    first = found.start("noun") if found["noun"] else found.start("limit")
    first = found.end("within") + 1 if found["within"] else first
    return Place(found.start(), stop, dropped="", called=called, value=(first, stop))


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
