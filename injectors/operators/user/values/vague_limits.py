"""Where an English sentence is whole without a limit, or a number's own noun stands for it: `a certain age`."""

from __future__ import annotations

import re

from crosswind.injectors.operators.user.requests.verbs import AMBIGUOUS, SURE
from crosswind.injectors.operators.user.values.left_out import UNITS, is_needless
from crosswind.injectors.operators.user.values.small_words import GO_ON, NO_PLURALS, make_words
from crosswind.injectors.operators.user.values.vague_place import (
    Place,
    ends_clause,
    find_next_word,
    find_word_before,
)
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
    r"|(?:that|which|who) (?:doesn['’]t |does not |don['’]t )?(?P<verb>takes?|costs?|charges?|lasts?|weighs?|is|are|has|have"
    rf"|earns?|runs?)(?: rated| priced)? (?P<limit>{_LIMITED})"
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
    """The place of a phrase or a clause that limits what it stands behind: `that takes less than 30 minutes`."""
    if one.type not in _NUMBERS:
        return None
    found = _CLAUSE.search(text, max(0, one.start - _LONGEST), one.start)
    rest = _REST.match(text, one.end)
    stop = one.end if rest is None else rest.end()
    if found is None or not (ends_clause(text, stop) or find_next_word(text, stop) in GO_ON - {"than"}):
        return None
    before = text[: found.start()]
    if not before[-1:].isalpha() or find_word_before(text, found.start() + 1) in GO_ON:
        return None
    verb = (found["verb"] or "").removesuffix("s")
    called = found["noun"] or ("time limit" if found["within"] else _CALLED.get(verb))
    called = called or ("maximum length" if one.type is ValueType.DURATION else "limit")
    if called in ("one", "maximum", "minimum", "least", "most"):
        return None
    first = found.start("noun") if found["noun"] else found.start("limit")
    first = found.end("within") + 1 if found["within"] else first
    return Place(found.start(), stop, dropped="", called=called, value=(first, stop))


_OLDER = re.compile(r"\b(?:older|younger) than $|\b(?:above|over|under|below) the age of $", re.IGNORECASE)
_LEADS = make_words("at for from in of on to with")
_NUMBERED = make_words(
    """
    branch bus category channel chapter class department district division floor gate grade group lane level
    line page platform port playlist province region room row route section sector service shelf slot station step
    store table terminal track tram unit user ward warehouse zone
    """
)
_YEARS = range(1500, 2101)
_SEASON = re.compile(r" season\b(?=[.,?!]|$| (?:of|in|for|with|and)\b)")
_MADE = re.compile(r" (?:[A-Z][\w-]+|edition|model)\b")
_COUNTED = re.compile(
    r" (?:(?:[a-z]+est|best|big|more|new|news|random|different|consecutive|other) ){0,2}"
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
    start, end = one.start, one.end
    after = find_next_word(text, end)
    stops = ends_clause(text, end) or after in GO_ON
    if one.type in _NUMBERS and (sized := _SIZED.search(text, max(0, start - _LONGEST), start)) is not None:
        return _find_size(text, one, sized)
    if one.type is ValueType.NUMBER and (place := _find_extent(text, one, before)) is not None:
        return place
    if before in ("is", "are") and one.type is ValueType.NUMBER:
        return _find_stated(text, one)
    if before in _SHARES and (percent := _PERCENT.match(text, end)) is not None:
        stop = percent.end()
        called = _SHARES[before]
        if not (ends_clause(text, stop) or find_next_word(text, stop) in GO_ON):
            return None
        forms = tuple(f"{lead} {called}" for lead in ("a certain", "a given"))
        return Place(start, stop, None, forms=forms, withholds=True, called=called, value=(start, stop))
    if before == "for" and ends_clause(text, end) and one.text.lower() in _PARTY:
        begin = start - len("for ")
        needless = is_needless(text, begin, end)
        return Place(begin - 1, end, dropped="", called="number of people") if needless else None
    if one.type is not ValueType.NUMBER or not one.text.isdecimal():
        return None
    if _OLDER.search(text, max(0, start - 24), start) and stops:
        return _put(start, end, "age")
    if int(one.text) in _YEARS and len(one.text) == 4:
        return _find_year(text, start, end, before, stops=stops)
    lead = start - len(before) - 1
    prep = find_word_before(text, lead)
    leads = before in _NUMBERED and stops
    if leads and (prep in _LEADS or prep in SURE | AMBIGUOUS):
        return _put(lead, end, before)
    counted = _COUNTED.match(text, end)
    if counted is None or after in UNITS or before not in ("after", "in", "of", "over", "with", "for"):
        return None
    noun = text[end + 1 : counted.end()]
    forms = tuple(f"{lead} number of {noun}" for lead in ("a certain", "a given"))
    return Place(
        start,
        counted.end(),
        None,
        forms=forms,
        withholds=True,
        called=f"number of {counted['noun']}",
        value=(start, counted.end()),
    )


_SHARES = {"at": "rate", "to": "level"}
_PERCENT = re.compile(r" ?%| percent\b")
_PARTY = make_words("2 3 4 5 6 7 8 two three four five six seven eight")
_STATED = re.compile(r"\b(?:[Tt]he|whose|[Ii]ts|[Mm]y) (?P<noun>(?:[a-z]+ )?(?P<head>[a-z]+)) (?:is|are) $")


def _find_stated(text: str, one: Mention) -> Place | None:
    """`whose radius is 4`."""
    found = _STATED.search(text, max(0, one.start - 40), one.start)
    unit = re.match(
        r" ?(?:[a-zA-ZΩ°]{1,3}(?:/[a-z]+)?|%UNITS)(?![\w])".replace("%UNITS", "|".join(sorted(UNITS))),
        text[one.end :],
    )
    stop = one.end + (unit.end() if unit is not None and unit[0].strip() not in GO_ON else 0)
    if found is None or found["head"] not in (one.thing or "").split():
        return None
    if not (ends_clause(text, stop) or find_next_word(text, stop) in GO_ON):
        return None
    forms = ("a certain value", "a given value")
    return Place(
        one.start, stop, None, forms=forms, withholds=True, called=found["noun"], value=(one.start, stop)
    )


_EXTENTS = {"tall": "height", "high": "height", "long": "length", "wide": "width", "deep": "depth"}
_EXTENT = re.compile(rf" ?(?:{'|'.join(sorted(UNITS))}) (?P<way>{'|'.join(_EXTENTS)})\b")
_WEIGHT = re.compile(r" ?(?:kg|kilograms|lbs|pounds|grams|g|tons)\b")
_IS = re.compile(r"(?:\b(?:is|are|was|stands)|['’]s) $")


def _find_extent(text: str, one: Mention, before: str) -> Place | None:
    """`is 178 cm tall`, `weighs 72 kg`."""
    extent = _EXTENT.match(text, one.end)
    if extent is not None and _IS.search(text[: one.start]):
        called, stop = _EXTENTS[extent["way"]], extent.end()
        forms: tuple[str, ...] = (f"of a certain {called}", f"of a given {called}")
    elif before in ("weighs", "weigh", "weighing") and (weight := _WEIGHT.match(text, one.end)) is not None:
        called, stop, forms = "weight", weight.end(), ("a certain amount", "a given amount")
    else:
        return None
    return Place(one.start, stop, None, forms=forms, withholds=True, called=called, value=(one.start, stop))


_BOTH = re.compile(
    r"(?: (?:with|having|of) (?:an? |the )?(?:[a-z]+ ){0,2}[a-z]+ (?:of )?(?:lengths? )?|, (?:[a-z]+ )?[a-z]+ (?:of )?)$"
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
    stop, plain = second.end(), text[first.start() :].startswith(", ")
    noun = find_word_before(text, first.start() + 1)
    measured = plain or re.search(r"\b(?:legs|sides|lengths|axes|edges|radii|diagonals)\b", first[0])
    if not measured or not noun.isalpha() or noun in GO_ON or not ends_clause(text, stop):
        return None
    if plain and _SIDES.isdisjoint(first[0].split()):
        return None
    value = (first.start() + (2 if plain else first[0].index(" ", 1) + 1), stop)
    return Place(first.start(), stop, dropped="", called="pair of values", value=value)


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
    return Place(found.start("key"), one.end, dropped="", called=called, value=(one.start, one.end))


def _put(start: int, end: int, noun: str) -> Place:
    forms = (f"a certain {noun}", f"a particular {noun}")
    return Place(start, end, None, forms=forms, withholds=True, called=noun, value=(start, end))


def _find_year(text: str, start: int, end: int, before: str, *, stops: bool) -> Place | None:
    """`after 2015`, `a 2016 Toyota`, `the 2012 Olympics`."""
    if before in ("after", "before", "until", "of", "by") and stops:
        return _put(start, end, "year") if before != "of" or text[start - 4] == " " else None
    if before == "the" and (season := _SEASON.match(text, end)) is not None:
        return _put(start - len("the "), season.end(), "season")
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
