"""Where vague words fit in an English sentence in place of a value: a whole phrase gives way to another."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from crosswind.injectors.operators.user.values.left_out import find_adjunct
from crosswind.injectors.operators.user.values.ranges import is_of_range
from crosswind.injectors.operators.user.values.small_words import DETERMINERS, GO_ON, qualifies
from crosswind.injectors.operators.user.values.vague.amounts import find_amount
from crosswind.injectors.operators.user.values.vague.cities import find_city, is_known
from crosswind.injectors.operators.user.values.vague.kinds import find_kind
from crosswind.injectors.operators.user.values.vague.measures import find_both, find_keyed
from crosswind.injectors.operators.user.values.vague.moments import find_date, find_time
from crosswind.injectors.operators.user.values.vague.money import find_money
from crosswind.injectors.operators.user.values.vague.nouns import find_named
from crosswind.injectors.operators.user.values.vague.numbers import find_duration, find_number
from crosswind.injectors.operators.user.values.vague.others import find_other
from crosswind.injectors.operators.user.values.vague.place import (
    Place,
    close_aside,
    ends_clause,
    find_next_word,
    find_word_before,
    leave_out,
    withhold,
)
from crosswind.injectors.operators.user.values.vague.ranges import find_range, find_second
from crosswind.injectors.operators.user.values.vague.settings import find_setting_value
from crosswind.injectors.operators.user.values.vague.things import (
    find_email,
    find_file,
    find_id,
    find_name,
    is_person,
)
from crosswind.injectors.text.entities import find_whole
from crosswind.injectors.text.word_lists import make_words
from crosswind.injectors.values.mentions import Mention
from crosswind.injectors.values.parameters import ValueType

_PART_OF_DAY = re.compile(r" (?:morning|afternoon|evening|night)\b")
_RANGED = (ValueType.NUMBER, ValueType.DURATION, ValueType.MONEY)
_IN_WORD = re.compile(r"[\w/_@#'’&-]")


def find_place(text: str, one: Mention) -> Place | None:
    """The place of a value; None where no vague words fit."""
    start, end = one.start, one.end
    if one.type is ValueType.DATE and (part := _PART_OF_DAY.match(text, end)) is not None:
        end = part.end()
    if re.match(r"['’]s\b|[-/_@'’]\w|\w|%", text[end : end + 3]) or _IN_WORD.match(text[:start][-1:]):
        return None
    if (one.type in _RANGED and _is_part(text, one)) or _is_weekday(one) or _stays_there(text, one):
        return None
    if (ranged := _find_range(text, one)) is not None:
        return ranged
    if one.type in _RANGED and is_of_range(text, one):
        return find_second(text, one)  # Nobody says `6 or several nights`.
    find = _FINDERS.get(one.type)
    if one.type is ValueType.PLACE and is_person(one):
        find = find_name
    elif one.type is ValueType.NAME and is_known(one.text):
        find = find_city
    place = None if find is None else find(text, one, start, end, find_word_before(text, start))
    place = place or _find_more(text, one, start, end) or find_kind(text, one, start, end)
    gone = find_adjunct(text, one) if place is None or place.dropped is None else None
    if gone is not None and place is not None:
        place = place.or_dropped(gone) if gone.value in (None, place.value or (one.start, one.end)) else place
    place = place or gone
    if place is None:
        return None
    join, stop, closes = place.join, place.end, place.accept is not None
    opens = text[0].isupper() and _OPENS.search(text, max(0, place.start - _GAP), place.start) is not None

    def put(phrase: str, coarse: str | None) -> str:
        said = join(phrase, coarse)
        said = close_aside(_agree(said), text, stop) if closes else said
        return said[:1].upper() + said[1:] if opens else said

    return place.with_join(put)


def _is_part(text: str, one: Mention) -> bool:
    """Whether more of the amount stands beside the value: `20 million`, `1 hour and 30 minutes`."""
    if _SCALED.match(text, one.end) or _COMPOUND.match(text, one.end):
        return True
    return _COMPOUNDED.search(text, max(0, one.start - _LONGEST_UNIT), one.start) is not None


def _stays_there(text: str, one: Mention) -> bool:
    """Whether somebody is at the place, for which nobody says `near me`: `I'm staying in Rome`."""
    return one.type in (ValueType.PLACE, ValueType.NAME) and _STAYS.search(text[: one.start]) is not None


_STAYS = re.compile(
    r"(?i)(?:['’]m|\b(?:am|based|born|live|lives|living|located|resid(?:e|es|ing)|stay|stays|staying))"
    r"(?: (?:currently|now|right now|temporarily))? (?:at|around|in|near|on) (?:the )?\Z"
)


def _is_weekday(one: Mention) -> bool:
    """Whether a day was taken for a name: `on Sundays`."""
    return one.type is not ValueType.DATE and one.text.lower().removesuffix("s") in _WEEKDAYS


_WEEKDAYS = make_words("monday tuesday wednesday thursday friday saturday sunday weekday weekend")
_SCALED = re.compile(r" ?(?:hundred|thousand|million|billion|trillion|dozen|k|mn|bn)\b", re.IGNORECASE)
_LASTS = r"(?:sec(?:ond)?s?|min(?:ute)?s?|h(?:ou)?rs?|days?|weeks?|months?|years?|feet|foot|ft|pounds|lbs?)"
_PARTS = (
    r"(?:sec(?:ond)?s?|min(?:ute)?s?|h(?:ou)?rs?|days?|nights?|weeks?|months?|inch(?:es)?|ounces|oz|cents)"
)
_COMPOUND = re.compile(rf"(?: ?{_LASTS})?,? (?:and )?(?:(?:a|one) half|\d+ ?{_PARTS})\b")
_COMPOUNDED = re.compile(rf"\b\w+ ?{_LASTS},? (?:and )?\Z")
_LONGEST_UNIT = 24


def _find_range(text: str, one: Mention) -> Place | None:
    return find_range(text, one) if one.type in (*_RANGED, ValueType.DATE, ValueType.TIME) else None


def _find_more(text: str, one: Mention, start: int, end: int) -> Place | None:
    """Of a value whose own kind of place has none."""
    if (keyed := find_keyed(text, one) or find_setting_value(text, one)) is not None:
        return keyed
    if one.type in (ValueType.PLACE, ValueType.NAME):
        return (
            find_second(text, one) or find_other(text, one, start, end) or find_named(text, one, start, end)
        )
    before = find_word_before(text, start)
    ways = (
        find_amount(text, one, before),
        find_both(text, one),
        find_second(text, one),
    )
    return next((place for place in ways if place is not None), None)


_OPENS, _GAP = re.compile(r"[.!?]\s+\Z"), 8
"""What stands before a sentence."""


def _agree(phrase: str) -> str:
    return re.sub(r"^a (?=[aeiou])", "an ", phrase)


def _find_option(  # noqa: PLR0911
    text: str, one: Mention, start: int, end: int, before: str
) -> Place | None:
    """`a cheap hotel` becomes `a hotel`, `the rear door` `one of the doors`; `in JSON format` goes."""
    after, thing = find_next_word(text, end), (one.thing or "").rpartition(" ")[2]
    if _is_told_again(text, one):
        return None
    if not thing and (place := _find_modifier(text, start, end, before, "type")) is not None:
        return replace(place, called="type") if qualifies(text, end) else None
    if not thing or one.text.startswith(("with ", "without ")) or (one.text.endswith("ly") and not after):
        return None
    if before in (thing, "type") and (ends_clause(text, end) or after in GO_ON):
        lead = start - len(before) - 1
        prep = find_word_before(text, lead)
        head = lead - len(prep) - 1
        return _leave_out_phrase(text, head, end, (lead, end)) if prep in ("in", "of", "with") else None
    if qualifies(text, end):
        return _find_modifier(text, start, end, before, thing)
    stands = ends_clause(text, end) or after in ("and", "for", "from", "in", "on", "please", "with")
    lead = len(before) + 1 if before in (thing, "type") else 0
    if text[start - lead - 2 : start - lead] == ", " and stands:
        return Place(start - lead - 2, end, dropped="", value=(start - lead, end))
    ways = ("in", "with", "by", "via", "on", "as")
    if before in ("by", "on", "as") and _needs_way(find_word_before(text, start - len(before) - 1)):
        return None
    head, found = start - len(before) - 1, before in ways and stands
    if before == "the" and find_word_before(text, head) == "in":
        head, found = head - len("in "), stands
    return _leave_out_phrase(text, head, end, (start, end)) if found else None


def _needs_way(word: str) -> bool:
    """Whether what is done says little without how: `sort by`, `grouped by`, `based on`."""
    return word.endswith(("ed", "ing")) or word in ("filter", "group", "is", "order", "sort", "turn")


def _is_told_again(text: str, one: Mention) -> bool:
    """Whether a word of the option's family stands elsewhere: it would still be told."""
    stem = max(one.text.lower().split(), key=len)[:_STEM]
    return len(stem) >= _STEM and text.lower().count(stem) > 1


_STEM = 5


def _find_modifier(  # noqa: PLR0911
    text: str, start: int, end: int, before: str, thing: str
) -> Place | None:
    """Of an option before a noun, which is enough without it."""
    after = find_next_word(text, end)
    head, stop = start - len(before) - 1, end + 1 + len(after)
    if before in ("in", "with") and after == thing:
        return _leave_out_phrase(text, head, stop, (start, stop))
    if after == thing and before == "the" and thing in _SEVERAL:
        forms = (f"one of the {thing}s",)
        return withhold(head, stop, forms, f"exact {thing}", value=(start, stop))
    if after == thing:
        end, after = stop, find_next_word(text, stop)
    if after in _NEEDS_MORE or not qualifies(text, end):
        return _find_inner(text, start, end, before)
    if before in ("a", "an"):
        if _is_news(text, head, after):
            return None
        article = "an" if after[0] in "aeiou" else "a"
        article = article.title() if text[head].isupper() else article
        return Place(head, end + 1, dropped=f"{article} ", value=(start, end))
    stop = end + 1 + len(after)
    if before == "the" and after in _SEVERAL and not qualifies(text, stop):
        forms = (f"one of the {after}s",)
        return withhold(head, stop, forms, f"exact {after}", value=(start, stop))
    several = _PLURAL.match(text, end) is not None and before not in (
        "",
        "of",
        "and",
        "or",
        "as",
        "by",
        "in",
        "to",
    )
    fits = several or before in DETERMINERS - {"no"}
    return Place(start, end + 1, dropped="", value=(start, end)) if fits and start else None


def _is_news(text: str, start: int, noun: str) -> bool:
    """Whether the option is all that the phrase there adds: `a lamp, ideally a dimmable lamp`."""
    begin = max((found.end() for found in _SENTENCE_END.finditer(text, 0, start)), default=0)
    return _ADDS.search(text, begin, start) is not None or find_whole(text[begin:start].lower(), noun, 0) >= 0


_SENTENCE_END = re.compile(r"[.!?;\n]\s")
_ADDS = re.compile(
    r"\b(?:especially|ideally|preferably|rather|specifically|such as|(?:is|are|was) (?:it )?) ?$"
)


def _find_inner(text: str, start: int, end: int, before: str) -> Place | None:
    """Of an option before another word that qualifies the same noun: `a cheap Italian restaurant`."""
    after = _QUALIFIER.match(text, end)
    if after is None or after[2] in _NEEDS_MORE or before not in ("a", "an"):
        return None
    head = start - len(before) - 1
    article = "an" if after[1][0] in "aeiouAEIOU" else "a"
    return Place(
        head, end + 1, dropped=f"{article.title() if text[head].isupper() else article} ", value=(start, end)
    )


_PLURAL = re.compile(
    r"(?: [a-z]+){0,2} (?:[a-z]+(?<![su])s|information|news|data|music|people)\b(?! [a-z]+s\b)"
)
"""A noun of which there are several, with its qualifiers."""
_QUALIFIER = re.compile(
    r" (Italian|Thai|Indian|Mexican|Chinese|Japanese|French|Greek|Korean|Vietnamese|Spanish|German|American)"
    r" ([a-z]{3,})"
)
_NEEDS_MORE = make_words(
    "category class color colour format genre kind language layout level manner mode number one ones order"
    " permission permissions rights size status style theme tone type unit units version way"
)
"""Nouns that say nothing by themselves: `in a format`."""
_SEVERAL = make_words(
    "account camera card door fan folder heater lamp light list lock oven room seat speaker table thermostat"
    " tire tyre window"
)
"""Nouns of which people have more than one."""


def _leave_out_phrase(text: str, start: int, end: int, value: tuple[int, int]) -> Place | None:
    whole = leave_out(Place(start, end), text, GO_ON)
    if whole.dropped is None or whole.dropped_span is None:
        return None
    return Place(*whole.dropped_span, dropped=whole.dropped, value=value)


_FINDERS: Mapping[ValueType, Callable[[str, Mention, int, int, str], Place | None]] = {
    ValueType.DATE: find_date,
    ValueType.TIME: find_time,
    ValueType.NUMBER: find_number,
    ValueType.MONEY: find_money,
    ValueType.ID: find_id,
    ValueType.PLACE: find_city,
    ValueType.NAME: find_name,
    ValueType.DURATION: find_duration,
    ValueType.OPTION: _find_option,
    ValueType.FILE: find_file,
    ValueType.EMAIL: find_email,
}
