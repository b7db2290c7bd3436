"""Phrases of an English sentence that it doesn't need: with them goes the value, and the rest stays whole."""

from __future__ import annotations

import re

from crosswind.injectors.operators.user.requests.verbs import AMBIGUOUS, SURE
from crosswind.injectors.operators.user.values.small_words import is_small_word
from crosswind.injectors.operators.user.values.vague.place import (
    Place,
    ends_clause,
    find_next_word,
    find_word_before,
)
from crosswind.injectors.text.word_lists import make_words
from crosswind.injectors.values.mentions import Mention
from crosswind.injectors.values.parameters import ValueType

UNITS = make_words(
    """
    acres amps bar celsius cm coulombs cups degrees dollars euros fahrenheit feet ft g gallons gb grams
    hectares hp hz inches joules kelvin kg khz kilograms kilometers km kmh kph kw kwh lbs liters litres m
    meters metres mg mhz miles ml mm moles mph newtons nm ohms ounces oz percent points pounds psi seconds
    steps tons units v volts w watts yards
    """
)
"""What is measured rather than counted."""
_NAMED = re.compile(
    r"(?P<before> )(?P<prep>with|at|using|given|having) "
    r"(?P<what>(?:(?:a|an|the) )?(?:[a-z-]+ ){0,2}?(?P<noun>[a-z]+) )(?:of |equal to )?[$€£]?$"
)
"""`with a radius of`, before the value."""
_DIRECT = {
    ValueType.DURATION: make_words("for over"),
    ValueType.NUMBER: make_words("for with"),
    ValueType.MONEY: make_words("at for"),
    ValueType.NAME: make_words("at by for from in on with"),
    ValueType.TIME: make_words("at for"),
    ValueType.PLACE: make_words("at from in near"),
    ValueType.OPTION: make_words("as in into with"),
    ValueType.DATE: make_words("for in on"),
}
_WORDS = (ValueType.NAME, ValueType.PLACE, ValueType.OPTION, ValueType.DATE, ValueType.TIME)
_PLAIN = re.compile(
    r" (?:(?:big|large|new|small|more) )?(?P<noun>[a-z]+(?<![su])s|people)\b"
    r"(?! (?:old|each|per|away|ago|of)\b)"
)
_PERCENT = re.compile(r"%?(?: (?:annual |yearly )?(?:interest|growth))?(?: (?:per year|per annum|a year))?")
_AND = re.compile(
    r",? and (?:(?:a|an|the) )?(?:[a-z-]+ ){0,2}(?P<noun>[a-z-]+) (?:of )?\d+(?:[.,]\d+)*%?"
    r"(?: ?(?:%UNITS))?(?=[\s.,?!]|$)".replace("%UNITS", "|".join(sorted(UNITS)))
)
_DETERMINED = re.compile(
    r"\b(?:an?|the|my|our|this|that|some|any|another|one|two|three|four|five|all|of|\d+)(?: [\w'-]+)?"
    r"(?: [\w'-]+)? $",
    re.IGNORECASE,
)
_STRICTLY = re.compile(
    r"\b(?:an?|the|my|our|this|that|these|some|any|two|three|four|five|all|of|\d+) $", re.IGNORECASE
)
_GOES_ON = make_words("for from if in on please starting using when")
_THEN = make_words("and then to today tomorrow tonight")
"""Words behind a phrase that is no name, which they would go on."""
_SITED = make_words(
    "am are based be domiciled found headquartered held housed is live lived living located rooted settled"
    " situated stationed stay staying was were"
)
"""Words that say nothing without a place."""
_LOOSE_ENDS = ("s", "ing")
_NO_HEADS = ("ed", "en", "ly")


def find_adjunct(text: str, one: Mention) -> Place | None:
    """The phrase that says the value, where the sentence is whole without it: `for 3 nights`, `with base 10
    and height 5`."""
    found = _NAMED.search(text, max(0, one.start - 60), one.start)
    called = (one.thing or "").split()
    if found is not None and found["noun"] in called:
        begin, first = found.start("prep"), found.start("what")
    elif (prep := _find_preposition(text, one)) is not None:
        found, begin, first = None, prep, one.start
    else:
        return None
    stop = _find_stop(text, one, named=found is not None)
    if stop is None or not is_needless(text, begin):
        return None
    start, end, called_so = one.start, one.end, _count(text, one)
    if found is not None:
        more = _AND.match(text, stop)
        called_so = found["noun"] if more is None else f"{found['noun']} and {more['noun']}"
        stop = stop if more is None else more.end()
        start, end = first, stop
    elif one.type is ValueType.NUMBER:
        end = stop
    if one.type is ValueType.NAME and find_next_word(text, stop) in ("in", "on"):
        return None  # `with Emma Stone in the lead role`
    after = find_next_word(text, stop)
    ways = _GOES_ON | (_THEN if one.type not in (ValueType.NAME, ValueType.PLACE) else frozenset())
    if not (ends_clause(text, stop) or after in ways):
        return None
    if one.type is ValueType.MONEY and text.startswith("at ", begin):
        called_so = "price"
    return Place(begin - 1, stop, dropped="", called=called_so, value=(start, end))


def _count(text: str, one: Mention) -> str | None:
    """What a number counts, or in which unit it measures."""
    counted, unit = _PLAIN.match(text, one.end), find_next_word(text, one.end)
    if one.type is not ValueType.NUMBER or (counted is None and unit not in UNITS):
        return None
    return f"number of {unit if counted is None else counted['noun']}"


def _find_preposition(text: str, one: Mention) -> int | None:
    """Where the preposition of the value stands, with or without an article between."""
    start = one.start
    before = find_word_before(text, start)
    if before in ("the", "my") and one.type in _WORDS:
        start -= len(before) + 1
        before = find_word_before(text, start)
    return start - len(before) - 1 if before in _DIRECT.get(one.type, ()) else None


def _find_stop(text: str, one: Mention, *, named: bool) -> int | None:
    """Where the phrase ends: with its unit, or with what is counted."""
    after = find_next_word(text, one.end)
    if one.type in _WORDS:
        return one.end
    if one.text.endswith("%") or text[one.end : one.end + 1] == "%":
        found = _PERCENT.match(text, one.end)
        return one.end if found is None else found.end()
    if after in UNITS:
        return one.end + 1 + len(after)
    counted = _PLAIN.match(text, one.end)
    if one.type is ValueType.NUMBER and not named:
        return None if counted is None else counted.end()
    return one.end


def is_needless(text: str, begin: int) -> bool:
    """Whether what stands before the phrase is a noun that has its verb, by what leads up to it."""
    head = find_word_before(text, begin)
    at = begin - len(head) - 1
    if head in _SITED:
        return False
    if not head or text[at - 1 : at] not in (" ", "") or is_small_word(head) or len(text[:at].split()) < 2:
        return False
    written = text[at : at + 1]
    if written.isupper() or written.isdigit():
        return at > 0 and text[at - 2 : at - 1] not in (".", "!", "?")
    ahead = text[max(0, at - 40) : at]
    if (head.endswith(_LOOSE_ENDS) and not head.endswith("ss")) or head in SURE | AMBIGUOUS:
        return _STRICTLY.search(ahead) is not None
    return not head.endswith(_NO_HEADS) and _DETERMINED.search(ahead) is not None
