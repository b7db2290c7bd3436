"""What stands for a city or an address in an English sentence, and for its preposition, or that it goes."""

from __future__ import annotations

import re

from crosswind.injectors.operators.user.values.shortened import list_wider
from crosswind.injectors.operators.user.values.small_words import GO_ON, qualifies
from crosswind.injectors.operators.user.values.vague.place import Place, find_word_before, leave_out
from crosswind.injectors.packs.model import Entry
from crosswind.injectors.text.word_lists import make_words
from crosswind.injectors.values.known_names import CITIES, COUNTRIES, GROUPS, MORE_PLACES
from crosswind.injectors.values.mentions import Mention
from crosswind.injectors.values.parameters import ValueType

_OF_NAME = make_words("bank capital city county kingdom lake port republic state town university")
"""Nouns that make a name together with `of` and a place."""
CITY_NAMES = frozenset(city for cities in CITIES.values() for city in cities)
NO_PLACES = frozenset(name for group in GROUPS for name in group)
REGION = re.compile(r"(?:, [A-Z][\w'-]*(?: [A-Z][\w'-]*){0,2})+(?![\w'-]| (?:and|or) [A-Z])")
NAME_GOES_ON = re.compile(r" (?:(?:of|and|&) )?[A-Z\d]")


def is_known(name: str) -> bool:
    """Whether it is the name of a city or a country that the packs know."""
    return name in CITY_NAMES or name in COUNTRIES or name in MORE_PLACES


def find_city(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:
    """`in Boston` becomes `near me` or goes, `from Boston` becomes `from here`; an address, its street."""
    street = list_wider(text, one.text)
    if one.text in NO_PLACES and not is_known(one.text):
        return None
    if (region := REGION.match(text, end)) is not None:
        end = region.end()
    if NAME_GOES_ON.match(text, end) or qualifies(text, end):
        return None
    if not street:
        return _find_town(text, one, end, before)
    if before not in ("at", "from", "in", "near", "to"):
        return None
    head = start - len(before) - 1
    forms = (f"{'on' if before in ('at', 'in') else before} {street[0]}",)
    return Place(head, end, None, thing="address", forms=forms, called="house number", value=(start, end))


def _find_town(  # noqa: PLR0911
    text: str, one: Mention, end: int, before: str
) -> Place | None:
    head, value, local = one.start - len(before) - 1, (one.start, end), LOCAL.search(text) is not None
    lead = find_word_before(text, head)
    if before in ("in", "at", "near", "around"):
        if before in ("in", "near") and one.text in CITY_NAMES and _NEARBY.search(text[:head]) and not local:
            place = Place(
                head,
                end,
                lambda entry: _WAYS[before].match(entry.text) is not None,
                thing="city",
                type=ValueType.PLACE,
                value=value,
            )
            return leave_out(place, text, GO_ON)
        gone = _cut(leave_out(Place(head, end, None), text, GO_ON | _ADVERBS), value)
        stays = gone is None or _THERE_IS.search(text[:head]) is not None
        if gone is None or before != "in" or one.text not in CITY_NAMES or local:
            return None if stays else gone
        near = Place(head, end, _is_around, thing="city", type=ValueType.PLACE, value=value)
        return near if stays else near.or_dropped(gone)
    told = _TOLD.match(text, end) is not None
    if before in ("of", "for") and one.text in CITY_NAMES and lead and lead not in _OF_NAME and not told:
        ways = _WAYS[before]
        return Place(
            head,
            end,
            lambda entry: ways.match(entry.text) is not None,
            thing="city",
            type=ValueType.PLACE,
            called="name of the city",
            value=value,
        )
    if before == "from" and is_known(one.text) and _FAR.search(text[:head]):
        return Place(head, end, lambda entry: entry.text.startswith("from "), called="location", value=value)
    if before == "to" and _NEAREST.search(text[:head]):
        return _cut(leave_out(Place(head, end, None), text, GO_ON), value)
    if before in ("to", "from") and _TRIPS.search(text[:head]) and lead not in _NEED_END:
        start = "departure city" if _FLIES.search(text) is not None else "starting point"
        called = "destination" if before == "to" else start
        return _cut(leave_out(Place(head, end, None), text, GO_ON), value, called)
    return None


_THERE_IS = re.compile(r"(?i)\b(?:if|whether) (?:there|you|they) [^.!?]*\Z")
"""What says little without a place: `see if there is a psychologist`."""
LOCAL = re.compile(
    r"(?i)\b(?:near(?: me|by| here| the)|close by|around (?:here|me)|local"
    r"|(?:in|around|near) (?:my|this) (?:area|city|place)"
    r"|within (?:a )?[\w.]+ (?:miles?|km|kilomet\w+|meters)|where I (?:am|live)|my location|from here)\b"
)
"""What says already that something is near the user."""


def _is_around(entry: Entry) -> bool:
    """Whether it fits whatever is, or happens, in a city."""
    return _AROUND.fullmatch(entry.text) is not None


_AROUND = re.compile(r"(?:in (?:my|this) area|around here|near me|near where I am|close to where I live)")


def _cut(whole: Place, value: tuple[int, int], called: str | None = None) -> Place | None:
    """The place alone that can be left out; None where it can't."""
    if whole.dropped is None or whole.dropped_span is None:
        return None
    return Place(*whole.dropped_span, dropped=whole.dropped, called=called, value=value)


_WAYS = {
    **dict.fromkeys(("in", "near"), re.compile(r"(?!from |of |for )")),
    **{way: re.compile(f"{way} ") for way in ("of", "for")},
}
"""Which words stand for a place behind each preposition, with it."""
_ADVERBS = make_words("currently right")
_TOLD = re.compile(r", (?:an?|known|that|the|where|which)\b")
"""What begins to explain the place behind it."""
_FLIES = re.compile(r"(?i)\b(?:fly|flying|flights?|tickets?|trains?)\b")
_NEED_END = make_words("comes coming distance far fly get goes going it move travel")
_NEARBY = re.compile(
    r"\b(?:bars?|cafes?|clinics?|counselors?|dentists?|doctors?|gyms?|hotels?|museums?|parks?|pharmac\w+|places?"
    r"|restaurants?|salons?|shops?|stores?|stylists?|theat\w+|therapists?)\b",
    re.IGNORECASE,
)
"""What people look for where they are."""
_TRIPS = re.compile(
    r"\b(?:bus(?:es)?|cab|car|courier|deliver|directions|drive|ferry|flights?|fly|journey|parcel|rides?|route|seats?|send|ship|shuttle"
    r"|taxi|tickets?|trains?|transfer|travel|trip|uber)\b"
)
_NEAREST = re.compile(r"\b(?:closest|nearest) (?:[a-z]+ ){1,3}$|\b(?:closest|nearest) [a-z]+(?: [a-z]+)?$")
_FAR = re.compile(r"\b(?:distance|far)\b")
