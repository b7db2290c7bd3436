"""What stands for a city or an address in an English sentence, and for its preposition."""

from __future__ import annotations

import re

from crosswind.injectors.operators.user.values.shortened import list_wider
from crosswind.injectors.operators.user.values.small_words import GO_ON, make_words, qualifies
from crosswind.injectors.operators.user.values.vague_place import Place, find_word_before, leave_out
from crosswind.injectors.values.known_names import AREA_OF, CITIES, COUNTRIES, GROUPS, REGION_OF
from crosswind.injectors.values.mentions import Mention
from crosswind.injectors.values.parameters import ValueType

_OF_NAME = make_words("bank capital city county kingdom lake port republic state town university")
"""Nouns that make a name together with `of` and a place."""
CITY_NAMES = frozenset(city for cities in CITIES.values() for city in cities)
_NO_PLACES = frozenset(name for group in GROUPS for name in group)
_PLACE_NOUNS = make_words("airport city destination place state station town location")
_REGION = re.compile(r"(?:, [A-Z][\w'-]*(?: [A-Z][\w'-]*){0,2})+(?![\w'-]| (?:and|or) [A-Z])")
NAME_GOES_ON = re.compile(r" (?:(?:of|and|&) )?[A-Z\d]")


def is_known(name: str) -> bool:
    """Whether it is the name of a city or a country that the packs know."""
    return name in CITY_NAMES or name in COUNTRIES or name in REGION_OF or name in AREA_OF


def find_city(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:
    """`in Boston` becomes `near me`, `from Boston` `from here`; an address, its street."""
    street = list_wider(text, one.text)
    if one.text in _NO_PLACES and not is_known(one.text):
        return None
    if (region := _REGION.match(text, end)) is not None:
        end = region.end()
    if NAME_GOES_ON.match(text, end) or qualifies(text, end):
        return None
    if not street:
        return _find_town(text, one, end, before)
    if before not in ("at", "from", "in", "near", "to"):
        return None
    head = start - len(before) - 1
    forms = (f"{'on' if before in ('at', 'in') else before} {street[0]}",)
    return Place(head, end, None, thing="address", forms=forms, value=(start, end))


def _find_town(text: str, one: Mention, end: int, before: str) -> Place | None:
    start, head = one.start, one.start - len(before) - 1
    lead = find_word_before(text, head)
    named = not _PLACE_NOUNS.isdisjoint((one.thing or "").split())
    if before not in _WAYS or not (is_known(one.text) or (named and before == "in")) or lead in _STAYS:
        return None
    if before in ("of", "for") and not (one.text in CITY_NAMES and lead and lead not in _OF_NAME):
        return None
    if before == "to" and _TRIPS.search(text[:head]) is None:
        return None
    if before == "from" and not (_TRIPS.search(text[:head]) or _FAR.search(text[:head])):
        return None
    venue = re.search(r"[A-Z][\w'’]* $", text[:head]) is not None and before == "in"
    forms = (
        ()
        if venue or _FAR.search(text[:head])
        else tuple(area for area in _list_areas(one.text, before) if not _is_told(text, area))
    )
    if one.text in COUNTRIES or (one.text in AREA_OF and one.text not in CITY_NAMES):
        return Place(head, end, None, thing="country", forms=forms, value=(start, end)) if forms else None
    ways = _WAYS[before]
    fits = None if before == "to" else lambda entry: ways.match(entry.text) is not None
    place = Place(head, end, fits, thing="city", type=ValueType.PLACE, forms=forms, value=(start, end))
    return leave_out(place, text, GO_ON) if before == "in" or (before == "to" and not forms) else place


def _list_areas(name: str, before: str) -> tuple[str, ...]:
    """Where it lies: `somewhere in Italy`, `on the East Coast`."""
    region, area = REGION_OF.get(name), AREA_OF.get(name)
    way = {"in": "in", "near": "in", "at": "in"}.get(before, before)
    if way not in ("in", "from", "to"):
        return ()
    lead = "" if way == "in" else f"{way} "
    forms = (f"{way} {region}", f"{lead}somewhere in {region}") if region is not None else ()
    if area is not None and area.endswith("Coast"):
        return (*forms, f"{way if way != 'in' else 'on'} {area}", f"{lead}somewhere on {area}")
    return (*forms, f"{way} {area}", f"{lead}somewhere in {area}") if area is not None else forms


def _is_told(text: str, form: str) -> bool:
    return form.rpartition(" ")[2] in text


_WAYS = {
    **dict.fromkeys(("at", "in", "near"), re.compile(r"(?!from |of |for )")),
    **{way: re.compile(f"{way} ") for way in ("from", "of", "for", "to")},
}
"""Which words stand for a place behind each preposition, with it."""
_STAYS = make_words(
    "am are m re s based be been being born go is live lived lives living moved stay staying was were"
)
_TRIPS = re.compile(r"\b(?:bus|drive|flights?|fly|journey|route|seats?|tickets?|train|travel|trip)\b")
_FAR = re.compile(r"\b(?:distance|far)\b")
