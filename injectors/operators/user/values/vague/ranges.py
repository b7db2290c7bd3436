"""Where an English sentence is whole without a range, and what stands for one of two: `another city`."""

from __future__ import annotations

import re

from crosswind.injectors.operators.user.values.small_words import GO_ON, is_small_word, qualifies
from crosswind.injectors.operators.user.values.vague.cities import CITY_NAMES
from crosswind.injectors.operators.user.values.vague.place import (
    Place,
    ends_clause,
    find_next_word,
    find_word_before,
    withhold,
)
from crosswind.injectors.text.word_lists import make_words
from crosswind.injectors.values.mentions import Mention
from crosswind.injectors.values.parameters import ValueType

_END = (
    r"(?:[$€£]?\d[\d.,:]*\d|[$€£]?\d|noon|midnight)(?:st|nd|rd|th)?(?: ?[ap]\.?m\b\.?| ?%)?"
    r"|(?:\d{1,2}(?:st|nd|rd|th)? (?:of )?)?(?:%MONTH)(?: \d{1,2}(?:st|nd|rd|th)?)?(?:,? \d{4})?"
).replace(
    "%MONTH",
    "January|February|March|April|May|June|July|August|September|October|November|December",
)
_RANGE = re.compile(
    rf"(?:(?:from|between) (?:the )?)(?:{_END})"
    r"(?: (?:up )?to | until | till | through | and |-| - |–)(?:the )?"
    rf"(?:{_END})(?: of (?:[A-Z][a-z]+))?(?: (?P<unit>[a-z]+))?"
)
_INCLUSIVE = re.compile(r",? (?:\(inclusive\)|(?:both )?inclusive|both included)(?!\w)")
_DEFINES = re.compile(
    r"\b(?:(?:is|are) (?:an?|any)|means?|defined|counts? as|considered|called)\b[^.?!;\n]*$"
)
"""What says what something is by a range."""
_UNITS = make_words(
    "cm degrees dollars euros feet hours inches kg km meters miles minutes percent pounds years"
)
_CLOCK = re.compile(r"\d ?[ap]\.?m\b|:\d\d|noon|midnight")
_DATED = re.compile(r"[A-Z][a-z]{2}|\d-\d\d|\d(?:st|nd|rd|th)\b")
_YEARS = re.compile(r"\b(?:1[5-9]|20)\d\d\b(?![.,\d])")
_LONGEST = 64
_NEEDS_RANGE = re.compile(
    r"\b(?:am|are|be|been|being|is|was|were|between|choice|choose|costs?|count\w*|differ\w*|distance|divide|drop\w*"
    r"|fall\w*|gap|go|goes|going|grow\w*|increas\w*|interval|mov\w+|period|rang\w+|ratio|relation\w*"
    r"|ris\w+|runs?|span\w*|split|transfer\w*|travel\w*|vari\w+|vary|change\w*|went|convert\w*"
    r"|dates?|extend\w*|limits?|set|adjust\w*|reduc\w+|rais\w+|switch\w*|work\w*) $",
    re.IGNORECASE,
)
"""Words that say little without a range."""
_PARTICIPLE = re.compile(r"ed$|^(?:built|made|shot|taken|written)$")
"""What says when it was: `released between 2011 and 2015`."""


def find_range(text: str, one: Mention) -> Place | None:
    """The place of a range of which the value is an end: ` between 1800 and 1815` goes."""
    head = max(0, one.start - _LONGEST)
    lead = max(text.rfind(f" {word} ", head, one.start) for word in ("between", "from"))
    found = _RANGE.match(text, lead + 1) if lead >= 0 else None
    if found is None or found.end() <= one.start:
        return None
    start, end = found.start(), found.end()
    if found["unit"] is not None and found["unit"] not in _UNITS:
        end -= len(found["unit"]) + 1
    if (inclusive := _INCLUSIVE.match(text, end)) is not None:
        end = inclusive.end()
    if _DEFINES.search(text, max(0, start - _LONGEST), start):
        return None
    before = find_word_before(text, start)
    if (
        _PARTICIPLE.search(before)
        or not before
        or (is_small_word(before) and before not in ("it", "me", "there", "open", "them", "us"))
    ):
        return None
    if _NEEDS_RANGE.search(text, max(0, start - _LONGEST), start) or not (
        ends_clause(text, end) or find_next_word(text, end) in GO_ON
    ):
        return None
    said = text[start:end]
    called = "times" if _CLOCK.search(said) else "range"
    called = "dates" if called == "range" and (_DATED.search(said) or _YEARS.search(said)) else called
    first = start + (len("from ") if said.startswith("from ") else 0)
    return Place(start - 1, end, dropped="", called=called, type=ValueType.DURATION, value=(first, end))


_PAIR = re.compile(r"(?:^|[ (])(?P<first>(?:\d[\d.,]*|[A-Z][\w'’-]*(?: [A-Z][\w'’-]*){0,2})) and $")
_OF_NUMBERS = re.compile(
    r"\b(?:divisors?|factors?|multiples?|gcd|lcm|hcf|sum|product|difference|ratio|average|mean)"
    r" (?:of|between) (?:the numbers )?\d[\d.,]* and $",
    re.IGNORECASE,
)
_KINDS = make_words(
    "airport city club company country drug language player school star state stock team university"
)


def find_second(text: str, one: Mention) -> Place | None:
    """The place of the second of two: `between Oslo and another city`."""
    start, end = one.start, one.end
    ahead = text[max(0, start - _LONGEST) : start]
    pair = _PAIR.search(ahead)
    if pair is None or qualifies(text, end) or re.match(r",? (?:and|or) |, [A-Z\d]|[%/]", text[end:]):
        return None
    if one.type is ValueType.NUMBER:
        numbers = _OF_NUMBERS.search(ahead) is not None
        return _put_another(start, end, "number") if numbers else None
    if one.type not in (ValueType.PLACE, ValueType.NAME) or not _joins(ahead[: pair.start("first")]):
        return None
    kind = (one.thing or "").rpartition(" ")[2].removesuffix("s")
    if one.text in CITY_NAMES and pair["first"] in CITY_NAMES:
        kind = "city"
    return _put_another(start, end, kind) if kind in _KINDS else None


def _joins(ahead: str) -> bool:
    """Whether what stands there leads up to two of a kind."""
    return re.search(r"\b(?:between|of|with|for|from|in|compare) $", ahead, re.IGNORECASE) is not None


def _put_another(start: int, end: int, kind: str) -> Place:
    forms = (f"another {kind}", f"a different {kind}") if kind != "number" else ("another number",)
    return withhold(start, end, forms, f"other {kind}")
