"""Where less exact words stand for a day or an hour in an English sentence."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from crosswind.injectors.operators.user.values.small_words import DETERMINERS, GO_ON, is_small_word, qualifies
from crosswind.injectors.operators.user.values.vague.place import (
    Place,
    find_next_word,
    find_word_before,
    leave_out,
)
from crosswind.injectors.text.languages import Language
from crosswind.injectors.text.word_lists import make_words
from crosswind.injectors.values.calendar import month_of
from crosswind.injectors.values.coarse import is_whole, list_coarse_forms
from crosswind.injectors.values.mentions import Mention
from crosswind.injectors.values.parameters import ValueType

_FROM = make_words("for from since starting")
_NEEDS_DAY = make_words("begins dated due ending ends expires is starting starts was")
_NO_MOMENTS = make_words("and between is of or the to was")
_RANGE = r" (?:to|until|till|through|and|or|-|–) (?:the )?(?:\d|[A-Z][a-z]{2,8} \d)"
"""Behind a day that begins a range."""
_FOLLOWED = re.compile(rf"{_RANGE}|,? (?:at|around|by|from|between|after|before) (?:\d|noon|midnight)")
_BORN = re.compile(r"\bborn\b")
_HOUR_BEFORE = re.compile(r"(?:\d ?[ap]\.?m\.?|\d:\d\d|noon|o'clock)(?: on)? (?:the )?$", re.IGNORECASE)
"""An hour beside a day: only one of them can be told less exactly."""
_ADVERB = re.compile(
    r"(?:some ?(?:time|day)|one |at some |halfway |within |over |around|in|on|after|before|early (?:in|next)"
    r"|late (?:at|in|next)|first thing|at the|towards?|this|later)\b"
)
_TOWARDS = re.compile(r"(?:at|around|in|towards) (?=the (?:end|middle) of )")
_AROUND = re.compile(r"around (?=the (?:first|second|third|last|middle) |late |early )")
_NAMED_DAY = re.compile(r"\b(?:tomorrow|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day) $")
_PART = re.compile(r"\b(?:morning|afternoon|evening)\b")


def find_date(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:
    if qualifies(text, end) or one.text.endswith(("month", "year", "quarter")) or month_of(one.text):
        return None
    if any(one.search(text[:start]) for one in (_BORN, _HOUR_BEFORE)) or _FOLLOWED.match(text, end):
        return None
    if before == "the":
        start -= len("the ")
        before = find_word_before(text, start)
    if before == "on":
        start -= len("on ")
        place = _place(text, start, end, _join_date)
        return place if find_word_before(text, start) in _NEEDS_DAY else leave_out(place, text, GO_ON)
    if before in _FROM:
        return _find_start(one, start, end, before)
    if before == "due":
        return Place(start, end, join=_join_date)
    known = re.search(r"\d", one.text) is None or before.isalpha()
    fits = known and before not in _NO_MOMENTS | DETERMINERS
    return _place(text, start, end, _join_date) if fits else None


def _place(text: str, start: int, end: int, join: Callable[[str, str | None], str]) -> Place:
    """The place of a moment, whose words go with the word before it: `book me in for early May`, `take early
    May`."""
    before = find_word_before(text, start)
    lead = "for " if before == "in" else "" if before in _TAKING else "in "
    return Place(start, end, join=lambda phrase, coarse: _IN.sub(lead, join(phrase, coarse)))


_IN = re.compile(r"\Ain ")
_TAKING = make_words("choose do get have like make need pick prefer reserve say select take try use want")
"""Verbs of which a moment is the object."""


def _find_start(one: Mention, start: int, end: int, before: str) -> Place | None:
    """`from Friday`, `since 5 March`."""
    whole = [form for form in list_coarse_forms(one, Language.EN) if is_whole(form)]
    if before == "for":
        forms = (
            tuple(form for form in whole if form.startswith(("some", "one day", "this "))) if whole else ()
        )
        return Place(start, end, None, forms=forms) if forms else None
    if not whole:
        parts = tuple(
            form for form in list_coarse_forms(one, Language.EN) if form.startswith(("early", "mid-", "late"))
        )
        return Place(start, end, None, forms=parts) if parts else None
    forms = tuple(_TOWARDS.sub("", form) for form in whole if _TOWARDS.match(form))
    return Place(start, end, None, forms=forms) if forms else None


def _join_date(phrase: str, coarse: str | None) -> str:
    if _ADVERB.match(phrase):
        return _AROUND.sub("in ", phrase)
    return f"in {phrase}" if coarse and phrase.startswith(coarse) else f"on {phrase}"


def find_time(text: str, one: Mention, start: int, end: int, before: str) -> Place | None:
    daily = find_next_word(text, end) in ("every", "each")
    if (qualifies(text, end) and not daily) or before in _NO_TIMES:
        return None
    if before != "at":
        return _place(text, start, end, _join_time) if before and not is_small_word(before) else None
    return _find_hour(text, one, start - len("at "), end)


_NO_TIMES = _NO_MOMENTS | _FROM | DETERMINERS | {"around", "about"}


def _find_hour(text: str, one: Mention, start: int, end: int) -> Place | None:
    """`at 7 pm`."""
    said = _PART.search(" ".join(list_coarse_forms(one, Language.EN)))
    if _NAMED_DAY.search(text[:start]) is not None:
        return Place(start, end, None, forms=(said[0],)) if said is not None else None
    if text.startswith(" tomorrow", end):
        forms = () if said is None else (f"tomorrow {said[0]}", "sometime tomorrow")
        return Place(start, end + len(" tomorrow"), None, forms=forms)
    if text.startswith((" on ", " next "), end):
        return None
    return leave_out(_place(text, start, end, _join_time), text, GO_ON)


_ORDINAL = re.compile(
    r" on the \d{1,2}(?:st|nd|rd|th)(?: of (?:this|next) month)?"
    r"(?! (?:floor|street|row|page|of\b|and|or|to|till|until)|-)\b"
)
_PART_OF_DAY = r"(?: in the (?:morning|afternoon|evening)| at night)"
_CLOCK = re.compile(
    r" at (?:half past|(?:a )?quarter (?:past|to)|(?:five|ten|twenty) (?:past|to))"
    rf" \w+{_PART_OF_DAY}?\b| at \d{{1,2}}{_PART_OF_DAY}\b"
)


def find_told(text: str) -> Iterator[tuple[Mention, Place]]:
    """Days and hours that are told in words alone: ` on the 14th`, ` at half past 7`."""
    for pattern, kind in ((_ORDINAL, ValueType.DATE), (_CLOCK, ValueType.TIME)):
        for match in pattern.finditer(text):
            start, end = match.start() + 1, match.end()
            place = leave_out(Place(start, end, None), text, GO_ON)
            value = (start + len("on the ") if kind is ValueType.DATE else start + len("at "), end)
            if (
                place.dropped is not None
                and place.dropped_span is not None
                and not _HOUR_BEFORE.search(text[:start])
            ):
                yield (
                    Mention(*value, text[value[0] : value[1]], kind, None),
                    Place(*place.dropped_span, dropped="", value=value),
                )


def _join_time(phrase: str, coarse: str | None) -> str:
    if _ADVERB.match(phrase):
        return phrase
    return f"in {phrase}" if coarse and phrase.startswith(coarse) else f"at {phrase}"
