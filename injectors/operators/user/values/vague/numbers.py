"""Where less exact words stand for a number or a time that lasts in an English sentence."""

from __future__ import annotations

import re

from crosswind.injectors.operators.user.requests.verbs import AMBIGUOUS, SURE
from crosswind.injectors.operators.user.values.left_out import UNITS, is_needless
from crosswind.injectors.operators.user.values.small_words import (
    DETERMINERS,
    GO_ON,
    NO_PLURALS,
    is_small_word,
    qualifies,
)
from crosswind.injectors.operators.user.values.vague.money import CALCULATES, CONVERTED, LIMITS
from crosswind.injectors.operators.user.values.vague.place import (
    Place,
    ends_clause,
    find_next_word,
    find_word_before,
    leave_out,
    list_told_later,
    withhold,
)
from crosswind.injectors.operators.user.values.vague.things import find_id, is_numbered
from crosswind.injectors.text.languages import Language
from crosswind.injectors.text.word_lists import make_words
from crosswind.injectors.values.coarse import list_coarse_forms, read_count
from crosswind.injectors.values.english_amounts import list_decades, list_rounded
from crosswind.injectors.values.mentions import Mention
from crosswind.injectors.values.parameters import ValueType

_SERIES = make_words("coming first following last latest next past previous top upcoming")
_COUNTED = re.compile(
    r" (?:(?:[a-z]+est|best|big|consecutive|different|first|large|medium|more|new|news|old|other|random"
    r"|recent|similar|small|top|unique|[A-Z][a-z]+"
    r"|(?!(?:years?|people|that|which|with|from|than|have|will)\b)[a-z]{4,}(?<![sg])(?<!ed)) ){0,2}"
    rf"{NO_PLURALS}(?P<noun>[a-z]+(?<![su])s|people)\b(?! (?:(?:old|each|per|away|later|ago"
    r"|a (?:second|minute|hour|day|week|month|year)|or (?:more|less|fewer|higher|better))\b|\d))"
)
_LISTED = re.compile(r"(?:, and|, or|,| and| or) \d")
"""Behind a number that is one of several."""
_NUMBERED = re.compile(r"(?:page|step|room|gate|line|version|chapter|number|no|port|day|week|level|floor)$")
_MOST_FEW = 12
"""Numbers up to this are a few, or several."""
_YEARS = range(1900, 2101)
_MEASURED = make_words(
    """
    acceleration age altitude amount amplitude angle brightness capacity charge concentration current
    deposit depth diameter distance energy force frequency height humidity intensity length level mass
    mileage percentage power pressure principal radius rate resistance salary side size slope speed temp
    temperature time value velocity voltage volume wavelength weight width
    """
)
"""What a number without a noun of its own measures."""
_TOLD_BARE = make_words("altitude angle depth distance height")
"""Measures that something has without saying how much: `thrown at an angle`."""
_OF = re.compile(r"\b(?:an?|the) (?P<noun>(?:[a-z]+ ){0,2}?(?P<head>[a-z]+)) of (?:about )?[$€£]?$")
"""`a height of`, before the value."""
_MEASURES = re.compile(r" ?(?:%|°[CF]?\b|[a-z]{1,3}/(?:s|h|m|hr)\^?\d?|[a-z]+ per [a-z]+)")


def find_number(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:  # noqa: PLR0911
    value, after = read_count(one.text), find_next_word(text, end)
    if value is not None and value in _YEARS and len(one.text) == _DIGITS_OF_YEAR:
        return find_year(text, value, start, end, before)
    if (value is not None and value < 2) or _LISTED.match(text, end):
        return None
    if (
        value is not None
        and (old := _YEARS_OLD.match(text, end))
        and _I_AM.search(text, max(0, start - 6), start)
    ):
        forms = tuple(f"in my {decade}" for decade in _DECADES.get(value // 10, ()))
        return Place(start, old.end(), None, forms=forms, called="age") if forms else None
    if is_numbered(text, one, before) and (before != "order" or _COUNTED.match(text, end) is None):
        return find_id(text, one, start, end, before)
    if before in _SERIES and (counted := _COUNTED.match(text, end)) is not None:
        return Place(start, end, dropped="few", called=_count_of(counted["noun"]))
    stop = _find_measure(text, end)
    if before in _BOUNDS and stop > end and (place := _find_bound(text, one, start, stop)) is not None:
        return place
    if before in LIMITS and not (before in ("at", "to") and stop > end):
        return None
    if after.lower() in _TEMPERATURES and CONVERTED.search(text[:start]):
        forms = (f"this temperature in {after}", f"my temperature reading in {after}")
        return withhold(start, end + 1 + len(after), forms, "temperature")
    if after in UNITS and after.endswith("s") and before in _ASKED_OF and CALCULATES.search(text):
        return _round(text, one, start, _count_of(after))
    if stop > end and after.islower() and CONVERTED.search(text[:start]):
        return _round(text, one, start, "amount")
    if (stop > end or not qualifies(text, end) or before == "of") and (
        place := _find_measured(text, one, start, stop, before)
    ) is not None:
        return place
    counted = _COUNTED.match(text, end)
    if (
        counted is not None
        and (after not in UNITS or (after in _MANY and before in _OWNED))
        and not (_NUMBERED.search(before) or _is_name(text, start, before))
    ):
        return _count(
            text, start, end, before, counted["noun"], few=value is not None and 2 < value <= _MOST_FEW
        )
    return None


_ASKED_OF = make_words("are change convert does do has have in is of turn")
"""Words before what is asked about, or turned into something else."""
_SENTENCE = re.compile(r"(?:^|[.!?]\s+)\Z")


def _is_name(text: str, start: int, before: str) -> bool:
    """Whether the word before a number begins a name that goes on with it: `Windows 11 users`."""
    head = start - len(before) - 1
    capital = text[head:start][:1].isupper() and _SENTENCE.search(text[:head]) is None
    return capital and not (before in SURE | AMBIGUOUS or is_small_word(before))


def _find_measure(text: str, end: int) -> int:
    """Where a measure ends that begins with a number: `80 kg`, `20 m/s`, `5%`."""
    if (found := _MEASURES.match(text, end)) is not None:
        return found.end()
    after = find_next_word(text, end)
    return end + 1 + len(after) if after in UNITS else end


def _find_measured(  # noqa: PLR0911
    text: str, one: Mention, start: int, stop: int, before: str
) -> Place | None:
    """`a height of 83 m` becomes `a height of a bit over 80 m`; behind `at`, it can go."""
    of = _OF.search(text, max(0, start - 60), start)
    bare = of is None or stop == one.end
    if bare and qualifies(text, stop) and find_next_word(text, stop) not in _FREE:
        return None
    after = find_next_word(text, one.end)
    called = named = (one.thing or "").split()
    if (rate := _RATE.match(text, one.end)) is not None:
        called = [_RATES[rate[1]]]
    elif not called or called[-1] not in _MEASURED:
        called = _BY_UNIT.get(after, "").split()
    if before and before in (one.thing or "").split():
        return _find_behind_noun(text, start, stop, before)
    if of is not None:
        known = of["head"] in (*called, *named) or of["head"] in _MEASURED
        rounded = _round(text, one, start, of["noun"]) if known else None
        if rounded is None and known and CALCULATES.search(text) is not None and ends_clause(text, stop):
            forms = list_told_later(of["noun"])
            return withhold(of.start(), stop, forms, of["noun"], value=(start, stop))
        return rounded or _find_bare_measure(text, of, start, stop)
    if before == "from" and called == ["distance"] and _FALLS.search(text[max(0, start - 40) : start]):
        called = ["height"]
    runs = called == ["distance"] and _RUNS.search(text, max(0, start - 16), start) is not None
    if not called or called[-1] not in _MEASURED or one.text.startswith("-"):
        return None
    if before not in _BEFORE_MEASURE and not runs:
        return None
    if before == "to" and called[-1] in text[max(0, start - 16) : start].split():
        return Place(start - len(" to "), stop, dropped="", called=called[-1], value=(start, stop))
    rounded = _round(text, one, start, called[-1])
    if rounded is None and CALCULATES.search(text) is not None and ends_clause(text, stop):
        return withhold(start, stop, list_told_later(called[-1]), called[-1])
    return rounded


def _find_bare_measure(text: str, of: re.Match[str], start: int, stop: int) -> Place | None:
    """`at an angle of 45 degrees` is at an angle."""
    ends = ends_clause(text, stop) or find_next_word(text, stop) in GO_ON
    if of["noun"] not in _TOLD_BARE or not ends:
        return None
    return Place(of.end("noun"), stop, dropped="", called=of["noun"], value=(start, stop))


def _round(text: str, one: Mention, start: int, called: str) -> Place | None:
    """The place of a number that is told about: `just under 20 degrees`."""
    value = read_count(one.text)
    forms = list_rounded(value) if value is not None else ()
    if value is not None and _FEW_FROM <= value <= _MOST_FEW and find_next_word(text, one.end) in _MANY:
        forms = ("a few", "several")
    if _RATED.match(text, one.end):
        return None
    if text.endswith(("at ", "by "), 0, start):
        forms = tuple(form for form in forms if "between" not in form)
    return Place(start, one.end, None, forms=forms, called=called) if forms and one.text.isdecimal() else None


_RATED = re.compile(r" [a-z]+ (?:per|a|an) [a-z]+\b")
"""What a rate is told by: `12 liters per minute`."""
_FEW_FROM = 3
_RUNS = re.compile(r"\b(?:cover|driv|fl[iy]|goe?|ran|rid|run|travel|walk)[a-z]* $")
_BOUNDS = make_words("above below exceeds over than under")


def _find_bound(text: str, one: Mention, start: int, stop: int) -> Place | None:
    """`under 450 meters` becomes `under a few hundred meters`."""
    called = _BY_UNIT.get(find_next_word(text, one.end)) or (one.thing or "").rpartition(" ")[2]
    if called not in _MEASURED or qualifies(text, stop) or called in ("amount", "time"):
        return None
    found = _round(text, one, start, called)
    few = (
        () if found is None else tuple(form for form in found.forms if form.endswith(("hundred", "thousand")))
    )
    return Place(start, one.end, None, forms=few, called=called) if few else None


def _find_behind_noun(text: str, start: int, stop: int, noun: str) -> Place | None:
    """` at volume 40` goes."""
    head = start - len(noun) - 1
    ahead = find_word_before(text, head)
    if ahead not in ("at", "with") or find_word_before(text, head - len(ahead) - 1) in GO_ON:
        return None
    if not ends_clause(text, stop) and find_next_word(text, stop) not in ("for", "in", "on", "please"):
        return None
    if not ends_clause(text, stop) and find_next_word(text, stop) not in ("for", "in", "on", "please"):
        return None
    whole = leave_out(Place(head - len(ahead) - 1, stop, None), text, GO_ON)
    if whole.dropped is None or whole.dropped_span is None:
        return None
    return Place(*whole.dropped_span, dropped="", called=noun, value=(head, stop))


_TEMPERATURES = make_words("celsius fahrenheit kelvin")
_BY_UNIT = {
    **dict.fromkeys(("celsius", "degrees", "fahrenheit"), "temperature"),
    **dict.fromkeys(("kmh", "kph", "mph"), "speed"),
    **dict.fromkeys(("bar", "psi"), "pressure"),
    **dict.fromkeys(("feet", "ft", "km", "kilometers", "m", "meters", "metres", "miles"), "distance"),
    **dict.fromkeys(("g", "grams", "kg", "lbs", "ounces", "pounds"), "weight"),
    **dict.fromkeys(("gallons", "liters", "litres"), "amount"),
    **dict.fromkeys(("seconds",), "time"),
    "watts": "power",
}
"""What some units measure, where no parameter says it."""
_FALLS = re.compile(r"\b(?:dropped|drops?|falls?|fell|jumps?|thrown)\b")
_RATE = re.compile(r" ?m/s(\^2|²)?| ?(?:k?m/h|mph|kmh)")
_RATES = {"^2": "acceleration", "²": "acceleration", None: "speed"}
_BEFORE_MEASURE = make_words("at by from it to with")
_FREE = make_words("above away dropped going high long moving tall thrown travelling traveling wide")
"""Words behind a measure that don't belong to it."""


def _count_of(noun: str) -> str:
    return f"number of {noun}" if noun != "numbers" else "count"


def _count(text: str, start: int, end: int, before: str, noun: str, *, few: bool) -> Place | None:
    """Of a number before what it counts."""
    if before in ("the", "my", "our"):
        return Place(start, end + 1, dropped="", called=_count_of(noun), value=(start, end))
    if before in DETERMINERS | {"of", "in"}:
        return _find_group(text, start, end) if before == "of" else None
    if (
        before in _DETERMINED
        or (noun in _PEOPLE and not few)
        or (noun == "shares" and _PRICED.search(text, end) is not None)
    ):
        return None
    two = text[start:end] in ("2", "two", "Two")
    if before == "by" or (before in ("with", "in") and not few):
        return None
    rounded = list_rounded(read_count(text[start:end]) or 0)
    many = tuple(form for form in rounded if form.endswith(("hundred", "thousand")))
    many = many or (("some",) if noun in UNITS else _MANY_MORE)
    forms = (
        ("a few", "several")
        if few
        else ("a couple" if text.startswith(" more", end) else "a couple of",)
        if two
        else many
    )
    return Place(start, end, None, forms=forms, called=_count_of(noun))


def _find_group(text: str, start: int, end: int) -> Place | None:
    """`a family of four` is a family."""
    noun = find_word_before(text, start - len("of "))
    stop = end if not qualifies(text, end) else None
    if noun not in _GROUPS or stop is None:
        return None
    return Place(start - len(" of "), stop, dropped="", called="number of people", value=(start, end))


_PRICED = re.compile(r"\b(?:at|for) [$€£]?\d")
"""The price of an order, which is for exactly so many."""
_DETERMINED = make_words("all only other others remaining same")
"""Words before a number that says how many there are, not how many are wanted: `the other two sides`."""
_MANY_MORE = ("some",)
_MANY = make_words("cups gallons grams kilometers liters litres meters metres miles ounces pounds")
_OWNED = make_words("add buy get got have need put use want")
_PEOPLE = make_words("adults children guests passengers people persons seats travelers travellers")
_GROUPS = make_words("crew dinner family group lunch party team")


_DIGITS_OF_YEAR = 4


def find_year(text: str, value: int, start: int, end: int, before: str) -> Place | None:
    """`in 1985` becomes `in the mid-1980s`."""
    if before not in ("in", "from", "during", "since") or qualifies(text, end) or _RANGED.match(text, end):
        return None
    dated = re.search(r"\d(?:st|nd|rd|th)? $|,$", text[: start - len(before) - 1]) is not None
    if dated or _DAY_BEFORE.search(text[: start - len(before) - 1]):
        return None
    place = Place(start, end, None, forms=list_decades(value), called="year", type=ValueType.DATE)
    gone = leave_out(Place(start - len(before) - 1, end, None), text, frozenset())
    needless = is_needless(text, start - len(before) - 1)
    if value >= _RECENT and before == "in":  # Nobody says `in the 2020s` yet.
        needless = needless or not _DONE.search(find_word_before(text, start - len(before) - 1))
    if before == "since" or gone.dropped is None or not needless:
        return place
    assert gone.dropped_span is not None
    return Place(*gone.dropped_span, dropped="", called="year", type=ValueType.DATE, value=(start, end))


_RANGED = re.compile(
    r" ?(?:to|and|or|until|till|through|-|–) ?(?:the )?(?:\d|(?:earlier|later|newer|older)\b)"
)
_DAY_BEFORE = re.compile(
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December) ?$"
)


_RECENT = 2010
_DONE = re.compile(r"(?:ed|born|built|made|written|won)$")


def find_duration(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:
    unit = re.split(r"[ -]", one.text)[-1]
    called = "duration" if unit.removesuffix("s") in _CLOCKED else _count_of(f"{unit.removesuffix('s')}s")
    if re.search(r"(?:\d|\bhalf) $", text[:start]):
        return None  # `$90 a day`, `half an hour`
    if qualifies(text, end) or "-" in one.text:
        if before in ("a", "an") and find_next_word(text, end)[:1] not in (*"aeiou", ""):
            head = start - len(before) - 1
            return Place(head, end + 1, dropped="A " if text[head].isupper() else "a ", called="length")
        return None
    if before in _SERIES and unit.endswith("s"):
        few = _find_few(one.text, unit)
        return Place(start, end, dropped=f"few {few}", called=called) if few else None
    forms = list_coarse_forms(one, Language.EN)
    longer = before == "over" or (before == "than" and _LONGER.search(text[:start]) is not None)
    if longer:
        forms = tuple(form for form in forms if form.startswith(("a few ", "a couple ", "several ")))
    if (
        before == "old"
        or not forms
        or (before in LIMITS and not longer)
        or before in _SERIES | DETERMINERS | {"about", "around"}
    ):
        return None
    return Place(start, end, None, forms=forms, called=called)


def _find_few(text: str, unit: str) -> str | None:
    """The unit of which a stretch of time is a few; None where it is a few of none."""
    found = re.match(r"\d+", text)
    if found is None or unit not in _SHORT:
        return unit
    most, least, larger = _SHORT[unit]
    count = int(found[0])
    return unit if count <= most else larger if count >= least else None


_CLOCKED = ("hour", "minute", "second")
_SHORT = {
    "minutes": (20, 120, "hours"),
    "hours": (12, 48, "days"),
    "days": (12, 13, "weeks"),
    "weeks": (9, 10, "months"),
    "months": (20, 21, "years"),
}
"""How many are a few of each, and from how many on they are a few of what."""
_I_AM, _YEARS_OLD = re.compile(r"\bI(?:['’]m| am) $"), re.compile(r"(?: years old|-year-old)\b")
_DECADES = {
    at: (name,)
    for at, name in enumerate("twenties thirties forties fifties sixties seventies eighties".split(), 2)
}
_LONGER = re.compile(r"\b(?:longer|more|older) than $")
