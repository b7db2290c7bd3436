"""Where vague words fit in an English sentence in place of a value, and how they join it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from crosswind.injectors.operators.user.values.things import PERSONS
from crosswind.injectors.operators.user.values.vague_place import (
    Place,
    accept_all,
    close_aside,
    ends_clause,
    find_next_word,
    find_word_before,
)
from crosswind.injectors.packs.model import Entry
from crosswind.injectors.values.calendar import month_of
from crosswind.injectors.values.coarse import read_count
from crosswind.injectors.values.known_names import GIVEN_NAMES
from crosswind.injectors.values.mentions import Mention
from crosswind.injectors.values.parameters import ValueType


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_DETERMINERS = _words("a an the this that these those my our your his her their its")
_GO_ON = _words(
    """
    about after again all along also am an and any are as at be because been before both but by can
    could did do does during each either for from had has have he her him his how i if in instead into
    is it its just keep later like make may maybe me might must my no not now of off on only onto or our
    out over per please put she should since so some such than thanks that the their them then there
    these they this those through till to today together tomorrow tonight too under until up using via
    was we were what when where which while who whose why will with within without would you your
    """
)
"""Words behind which a value ends its phrase: what stands before them qualifies no noun."""
_BOUND = _words(
    """
    a about am an and are as at based be been being born but by depend depending from i in is it live
    lives living look looking not of on or stay staying than that the to was were with work working
    """
)
"""Words that a preposition can't be taken away from."""
_OBJECTS = _words("it me them him her us")
_UNITS = _words(
    """
    bar celsius cm cups days degrees dollars euros fahrenheit feet ft g gallons gb grams hours hp in
    inches kg km kmh kph l lbs liters litres m mb meters metres mg miles minutes ml mm months mph ounces
    oz percent points pounds psi seconds steps units watts weeks years
    """
)
"""What is measured rather than counted."""
_DROPPED: dict[ValueType, frozenset[str]] = {
    ValueType.DATE: _words("on for by in"),
    ValueType.TIME: _words("at by around"),
    ValueType.PLACE: _words("in from near at"),
    ValueType.MONEY: _words("under below"),
    ValueType.DURATION: _words("for"),
    ValueType.NAME: _words("by with from"),
    ValueType.EMAIL: _words("to at"),
}
"""Prepositions that go with a value of that type where it isn't told."""
_AFTER_NUMBER = _words(
    """
    about above and are around as at be below by equals for from is least most of over set than to under
    up was with between within every
    """
)
_BEFORE_DATE = _words("by before after from until till since for to between and is be of was as")
_BEFORE_TIME = _BEFORE_DATE | {"around", "about"}
_BEFORE_PLACE = _words("a an and are as at from in is near or to was")
_SERIES = _words("first last next past previous top")
_ADVERBS = re.compile(r"(?:some ?time|somewhere|when|where|who)", re.IGNORECASE)
_PART_OF_DAY = re.compile(r" (?:morning|afternoon|evening|night)\b")
_COUNTED = re.compile(r" (?:[a-z]+ ){0,2}([a-z]+s)\b")
_NUMBERED = re.compile(r"(?:page|step|room|gate|line|version|chapter|number|no|port|day|week|level|floor)$")
_NUMBERED_THING = re.compile(r"\d{4,}")
_ID_NOUN = _words("id ids number no code reference ref")
_BEFORE_ID_NOUN = _words(
    """
    about book cancel check close confirm delete discharge find for from get in move my of on open
    reopen return show to track update when where whether with
    """
)
_VOWEL = re.compile(r"[aeiou](?!ne\b)", re.IGNORECASE)
_IN_WORD = re.compile(r"[\w/_@#'’&-]")
_BARE = frozenset(("the usual one", "the one I always pick"))
"""Stand for a choice, not for a place or a person."""
_MOST_FEW = 12
"""Numbers up to this are a few, or several."""


def qualifies(text: str, end: int) -> bool:
    """Whether what ends there stands before a noun."""
    after = find_next_word(text, end)
    return after != "" and after[0].islower() and after not in _GO_ON


def is_small_word(word: str) -> bool:
    """Whether it is a determiner, a preposition or its like, behind which a new phrase begins."""
    return word in _DETERMINERS or word in _GO_ON


def find_container(text: str, start: int, end: int) -> Place | None:
    """The place of a name before `folder`, `file` or their like, which is enough without it."""
    plain = find_next_word(text, end)
    owned = find_word_before(text, start) in _DETERMINERS - {"a", "an"}
    return Place(start, end + 1, dropped="") if owned and plain.islower() and plain.isalpha() else None


def find_place(text: str, one: Mention) -> Place | None:
    """The place of a value; None where no vague words fit."""
    start, end = one.start, one.end
    if one.type is ValueType.DATE and (part := _PART_OF_DAY.match(text, end)) is not None:
        end = part.end()
    if re.match(r"['’]s\b|[-/_@'’]\w|\w|%", text[end : end + 3]) or _IN_WORD.match(text[:start][-1:]):
        return None
    before, after = find_word_before(text, start), find_next_word(text, end)
    if qualifies(text, end):
        if one.type is ValueType.NUMBER and before not in _DETERMINERS:
            return _count(text, one, end, before, after)
        return _qualify(text, one, end, before, after)
    if before in ("the", "this"):
        start -= len(before) + 1
        before = find_word_before(text, start)
    return None if before in _DETERMINERS else _stand_alone(text, one, start, end, before)


def _count(text: str, one: Mention, end: int, before: str, after: str) -> Place | None:
    """Of a number before what it counts or measures."""
    if after in _UNITS:
        return Place(one.start, end, _fits_measure)
    if _COUNTED.match(text, end) is None or _NUMBERED.search(before):
        return None
    if before in _SERIES:
        return Place(one.start, end, lambda entry: entry.text == "several")
    few = (read_count(one.text) or _MOST_FEW + 1) <= _MOST_FEW
    return Place(one.start, end, lambda entry: _fits_measure(entry) or (few and _is_count(entry)))


def _qualify(text: str, one: Mention, end: int, before: str, after: str) -> Place | None:
    """Of a value before a noun: it is left out."""
    start = one.start
    if one.type in (ValueType.ID, ValueType.FILE, ValueType.EMAIL):
        return None
    if before in ("a", "an"):
        start -= len(before) + 1
        article = "an" if _VOWEL.match(after) else "a"
        return Place(start, end + 1, dropped=f"{article.title() if text[start].isupper() else article} ")
    option = one.type is ValueType.OPTION
    if option and before not in _DETERMINERS and after in (one.thing or "").split():
        return Place(start, end + 1 + len(after), _fits_thing)
    free = option and before and before not in _BOUND | {"for", "between", "per", "using"}
    named = one.type in (ValueType.NAME, ValueType.PLACE) and before and before not in _BEFORE_PLACE
    if before in _DETERMINERS - {"a", "an"} and after in (one.thing or "").split():
        head = start - len(before) - 1
        whole = Place(head, end + 1 + len(after), _fits_thing)
        return whole.or_dropped(Place(start, end + 1, dropped=""))
    return Place(start, end + 1, dropped="") if before in _DETERMINERS or free or named else None


def _stand_alone(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:
    """Of a value that is a phrase by itself."""
    find = _FINDERS.get(one.type)
    place = Place(start, end) if find is None else find(text, one, start, end, before)
    if place is not None and place.accept is not None:
        join = place.join
        place = place.with_join(lambda phrase, coarse: close_aside(join(phrase, coarse), text, end))
    dropped = _leave_out(text, one, start, end, before)
    if dropped is None:
        return place
    return dropped if place is None else place.or_dropped(dropped)


def _leave_out(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:
    """The place of a value with its preposition, where the sentence stands without them."""
    if before not in _DROPPED.get(one.type, ()):
        return None
    head = start - len(before) - 1
    ahead = find_word_before(text, head)
    if one.type is ValueType.EMAIL and ahead not in _OBJECTS | {"that", "this"}:
        return None
    if ahead in _OBJECTS or (ahead and ahead not in _BOUND | _GO_ON):
        return Place(head - 1, end, dropped="")
    return None


def _find_date(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:
    in_words = re.fullmatch(r"[^\W\d]+(?: [^\W\d]+){0,3}", one.text) is not None
    if before == "in" or one.text.endswith(("month", "year", "quarter")) or month_of(one.text):
        return None
    if before == "on":
        return Place(start - 3, end, accept_all, _join_date)
    if before in _BEFORE_DATE:
        return Place(start, end, lambda entry: not entry.text.startswith("some point"))
    if in_words or before.endswith("ing"):
        return Place(start, end, accept_all, _join_date)
    return Place(start, end, lambda entry: entry.text.startswith("{coarse}")) if before.isalpha() else None


def _join_date(phrase: str, coarse: str | None) -> str:
    if _ADVERBS.match(phrase):
        return phrase
    if phrase.startswith("some point"):
        return f"at {phrase}"
    return f"in {phrase}" if coarse and phrase.startswith(coarse) else f"on {phrase}"


def _join_time(phrase: str, coarse: str | None) -> str:
    if _ADVERBS.match(phrase):
        return phrase
    if coarse and phrase.startswith(coarse):
        if phrase.startswith("mid-"):
            return f"sometime {phrase}"
        if phrase.startswith("midday"):
            return f"around {phrase}"
        return f"in {phrase}" if phrase.startswith("the ") else f"in the {phrase}"
    return f"at {phrase}"


def _find_time(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:
    if before == "at":
        return Place(start - 3, end, accept_all, _join_time)
    if before in _BEFORE_TIME:
        return Place(start, end)
    return Place(start, end, _fits_measure) if before.isalpha() else None


def _find_number(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:
    if _NUMBERED_THING.fullmatch(one.text) and before.isalpha() and not is_small_word(before):
        return _find_id(text, one, start, end, before)
    if text.startswith(" of ", end):
        return Place(start, end, _fits_measure)
    if before in _AFTER_NUMBER:
        return Place(start, end, lambda entry: not _is_count(entry))
    named = before in (one.thing or "").split() or (before.isalpha() and not _NUMBERED.search(before))
    return Place(start, end, _fits_measure) if named else None


def _find_id(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:
    """`order W1` becomes `the order`; `id W1` gives way as a whole."""
    if before in _ID_NOUN:
        start -= len(before) + 1
        before = find_word_before(text, start)
        return Place(start - len(before) - 1, end) if before in _DETERMINERS else Place(start, end)
    if not before.isalpha() or before in _GO_ON or len(before) < 3:
        return Place(start, end)
    head = start - len(before) - 1
    ahead = find_word_before(text, head)
    if ahead in _DETERMINERS - {"a", "an"}:
        return Place(start - 1, end, dropped="")
    return Place(head, end, dropped=f"the {text[head : start - 1]}") if ahead in _BEFORE_ID_NOUN else None


def _find_place(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:
    inside = before not in ("to", "from", "near", "around", "toward", "towards")
    address = "address" in (one.thing or "") or "street" in (one.thing or "")

    def fits(entry: Entry) -> bool:
        if entry.text in _BARE or (inside and entry.text.startswith(("where", "somewhere"))):
            return False
        return address or "address" not in entry.text

    return Place(start, end, fits) if before else None


def _find_name(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:
    return Place(start, end, _fits_person if _is_person(one) else _fits_name)


def _find_duration(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:
    if "-" in one.text or before in _SERIES:
        return None
    return Place(start, end, _fits_stretch if before == "for" else _fits_measure)


def _find_option(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:
    if one.text.startswith(("with ", "without ")):
        comma = text[start - 2 : start] == ", "
        head = start - 2 if comma and ends_clause(text, end) else start - 1
        return Place(head, end, dropped="") if before or comma else None
    return Place(start, end) if before and not one.text.endswith("ly") else None


def _find_file(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:
    is_file = re.fullmatch(r"[\w-]+\.\w{1,5}", one.text) is not None
    return Place(start, end, accept_all if is_file else _fits_thing)


_FINDERS: Mapping[ValueType, Callable[[str, Mention, int, int, str], Place | None]] = {
    ValueType.DATE: _find_date,
    ValueType.TIME: _find_time,
    ValueType.NUMBER: _find_number,
    ValueType.ID: _find_id,
    ValueType.PLACE: _find_place,
    ValueType.NAME: _find_name,
    ValueType.DURATION: _find_duration,
    ValueType.OPTION: _find_option,
    ValueType.FILE: _find_file,
}


def _is_person(one: Mention) -> bool:
    known = one.text.partition(" ")[0] in GIVEN_NAMES or one.text.startswith(("Dr", "Mr", "Ms"))
    return known or not PERSONS.isdisjoint((one.thing or "").split())


def _is_count(entry: Entry) -> bool:
    """Whether it stands before what it counts."""
    alone = entry.fits == (ValueType.NUMBER,) and "{" not in entry.text
    return alone and not entry.text.startswith(("the", "a sane", "as many"))


def _fits_measure(entry: Entry) -> bool:
    return entry.text.endswith("{coarse}")


def _fits_stretch(entry: Entry) -> bool:
    return not entry.text.startswith("as long as")


def _fits_person(entry: Entry) -> bool:
    return entry.text not in _BARE and not entry.text.startswith(
        ("what ", "whatever ", "that product", "my subject", "the thing", "the usual", "the one I always")
    )


def _fits_name(entry: Entry) -> bool:
    """Of somebody or something that nothing tells more of."""
    return "{thing}" in entry.text or entry.text in _BARE or entry.text.startswith("the one in question")


def _fits_thing(entry: Entry) -> bool:
    return "{thing}" in entry.text
