"""Where a number can be left open by its own noun in an English sentence, or the one before it."""

from __future__ import annotations

import re

from crosswind.injectors.operators.user.requests.verbs import AMBIGUOUS, SURE
from crosswind.injectors.operators.user.values.left_out import UNITS, is_needless
from crosswind.injectors.operators.user.values.small_words import GO_ON, NO_PLURALS
from crosswind.injectors.operators.user.values.vague.place import (
    Place,
    ends_clause,
    find_next_word,
    find_word_before,
    list_unnamed,
    withhold,
)
from crosswind.injectors.text.word_lists import make_words
from crosswind.injectors.values.english_amounts import list_rounded
from crosswind.injectors.values.mentions import Mention
from crosswind.injectors.values.parameters import ValueType

_NUMBERS = (ValueType.NUMBER, ValueType.MONEY, ValueType.DURATION)
_LONGEST = 64
_LEADS = make_words("at for from in of on to with")
_NUMBERED = make_words(
    """
    branch bus category channel chapter class department district division floor gate grade group lane level
    line page platform playlist port province region room row route section sector service shelf slot station
    step store table terminal track tram unit user ward warehouse zone
    """
)
_YEARS = range(1500, 2101)
_SEASON = re.compile(r" season\b(?=[.,?!]|$| (?:of|in|for|with|and)\b)")
_MADE = re.compile(r" (?:[A-Z][\w-]+|edition|model)\b")
_COUNTED = re.compile(
    r" (?:(?:[a-z]+est|best|big|more|new|news|random|different|consecutive|other"
    r"|(?!more)[a-z]{4,}(?<!s)) ){0,2}"
    rf"{NO_PLURALS}(?P<noun>[a-z]+(?<![su])s)\b(?! (?:old|each|per|away|later|ago|and \d)\b)"
)
_SIZED = re.compile(r"\b(?P<lead>an?) (?P<noun>[a-z]{3,}(?: [a-z]{3,})?) of $", re.IGNORECASE)
_NO_SIZED = make_words(
    "age amount average budget distance fee half lot maximum mean minimum number out pair part price"
    " rate rating speed temperature total year"
)
_COLLECTIONS = make_words(
    "batch block box bundle crew deck family group hand list pack pool population range sample"
    " sequence series set team"
)
_BY_UNIT = {
    **dict.fromkeys(("kg", "lbs", "pounds", "ounces", "g", "grams", "kilograms"), "weight"),
    **dict.fromkeys(("liters", "litres", "gallons"), "volume"),
    **dict.fromkeys(("km", "miles", "m", "meters", "metres", "feet", "ft", "cm", "inches", "mm"), "length"),
    **dict.fromkeys(("minutes", "hours", "days", "weeks", "months", "years", "seconds", "nights"), "length"),
}


def find_amount(text: str, one: Mention, before: str) -> Place | None:
    """The place of a number of which its own noun, or the one before it, says what it is."""
    if one.type in _NUMBERS and (sized := _SIZED.search(text, max(0, one.start - _LONGEST), one.start)):
        return _find_size(text, one, sized)
    if one.type is not ValueType.NUMBER:
        return None
    if (portion := _PORTION.match(text, one.end)) is not None and before in _BEFORE_PORTION:
        stop = portion.end()
        return Place(one.start, stop, dropped="", called="amount", value=(one.start, stop - len(" of ")))
    place = _find_extent(text, one, before)
    if place is None and before in ("is", "are"):
        return _find_stated(text, one)
    if place is None and before == "for" and ends_clause(text, one.end) and one.text.lower() in _PARTY:
        begin = one.start - len("for ")
        gone = Place(begin - 1, one.end, dropped="", called="number of people")
        return gone if is_needless(text, begin) else None
    return place or (_find_plain(text, one, before) if one.text.isdecimal() else None)


def _stops(text: str, at: int) -> bool:
    return ends_clause(text, at) or find_next_word(text, at) in GO_ON


def _find_plain(text: str, one: Mention, before: str) -> Place | None:
    """`in province 3`, `in 10 throws`."""
    start, end, stops = one.start, one.end, _stops(text, one.end)
    if int(one.text) in _YEARS and len(one.text) == 4:
        return _find_year(text, start, end, before, stops=stops)
    lead = start - len(before) - 1
    prep = find_word_before(text, lead)
    if stops and before in _NUMBERED and (prep in _LEADS or prep in SURE | AMBIGUOUS):
        return withhold(lead, end, list_unnamed(before), f"{before} number")
    counted = _COUNTED.match(text, end)
    if counted is None or find_next_word(text, end) in UNITS or before not in _BEFORE_COUNT:
        return None
    few = ("a few {}", "several {}") if 2 < int(one.text) <= _MOST_FEW else ("some {}",)
    forms = tuple(form.format(text[end + 1 : counted.end()]) for form in few)
    if int(one.text) <= 2:
        return None
    return withhold(start, counted.end(), forms, f"number of {counted['noun']}")


_MOST_FEW = 12
_BEFORE_COUNT = make_words("after for in of over with")
_UNIT = re.compile(rf" ?(?:[a-zA-ZΩ°]{{1,3}}(?:/[a-z]+)?|{'|'.join(sorted(UNITS))})(?!\w)")
_PORTION = re.compile(rf" ?(?:{'|'.join(sorted(UNITS))}) of (?=[a-z]{{3,}})")
_BEFORE_PORTION = make_words("add buy drink eat for from get heat pour put in into make of need using with")
_PARTY = make_words("2 3 4 5 6 7 8 two three four five six seven eight")
_STATED = re.compile(r"(?<=\w) whose (?P<noun>(?:[a-z]+ )?(?P<head>[a-z]+)) (?:is|are) $")


_MORE_STATED = re.compile(r"(?: units)?,? and (?:whose |the |its )?[a-z]+ (?:is|are) ")


def _find_stated(text: str, one: Mention) -> Place | None:
    """`whose radius is 4`."""
    found = _STATED.search(text, max(0, one.start - 40), one.start)
    unit = _UNIT.match(text, one.end)
    stop = unit.end() if unit is not None and unit[0].strip() not in GO_ON else one.end
    if _MORE_STATED.match(text, stop):
        return None
    if found is None or found["head"] not in (one.thing or "").split():
        return None
    if not _stops(text, stop):
        return None
    return Place(found.start(), stop, dropped="", called=found["noun"], value=(found.start("noun"), stop))


_EXTENTS = {"tall": "height", "high": "height", "long": "length", "wide": "width", "deep": "depth"}
_EXTENT = re.compile(rf" ?(?:{'|'.join(sorted(UNITS))}) (?P<way>{'|'.join(_EXTENTS)})\b")
_WEIGHT = re.compile(r" ?(?:kg|kilograms|lbs|pounds|grams|g|tons)\b")
_IS = re.compile(r"(?:\b(?:is|are|was|stands)|['’]s) $")


def _find_extent(text: str, one: Mention, before: str) -> Place | None:
    """`is 178 cm tall`, `weighs 72 kg`: `a bit over 70 kg`."""
    extent = _EXTENT.match(text, one.end)
    if extent is not None and _IS.search(text, max(0, one.start - 8), one.start):
        called = _EXTENTS[extent["way"]]
    elif before in ("weighs", "weigh", "weighing") and _WEIGHT.match(text, one.end) is not None:
        called = "weight"
    else:
        return None
    forms = list_rounded(int(one.text)) if one.text.isdecimal() else ()
    return Place(one.start, one.end, None, forms=forms, called=called) if forms else None


def _find_year(text: str, start: int, end: int, before: str, *, stops: bool) -> Place | None:
    """`a 2016 Toyota`, `the 2012 Olympics`."""
    if before == "of" and stops:
        return None
    if before == "the" and (season := _SEASON.match(text, end)) is not None:
        forms = ("a past season", "one of the past seasons")
        return withhold(start - len("the "), season.end(), forms, "season")
    if before in ("a", "the", "my") and _MADE.match(text, end) is not None:
        return Place(start, end + 1, dropped="", called="year", value=(start, end))
    return None


def _find_size(text: str, one: Mention, sized: re.Match[str]) -> Place | None:
    """`a turkey of 12 pounds` is a turkey, and `a deck of 52 cards` a deck of cards."""
    head, after = sized["noun"].rpartition(" ")[2], find_next_word(text, one.end)
    if head in _COLLECTIONS and after.endswith("s") and after not in UNITS:
        return Place(
            one.start, one.end + 1, dropped="", called=f"number of {after}", value=(one.start, one.end)
        )
    if head in _NO_SIZED or head in (one.thing or "").split():
        return None
    unit = one.text.rpartition(" ")[2] if one.type is not ValueType.NUMBER else after
    stop = one.end if one.type is not ValueType.NUMBER else one.end + 1 + len(after)
    called = _BY_UNIT.get(unit) or (f"number of {after}" if _COUNTED.match(text, one.end) else None)
    if called is None or not (ends_clause(text, stop) or find_next_word(text, stop) in GO_ON | {"have"}):
        return None
    start = sized.end("noun")
    return Place(start, stop, dropped="", called=called, value=(one.start, stop))
