"""Rivals of a value, written as it is.

A rival is what somebody may have meant instead: another day, an enumerated value, a place of this
conversation. It is never the value itself, nor one that `taken` names.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from datetime import date, timedelta

from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.text.languages import Language
from crosswind.injectors.values.calendar import MONTHS, find_cycle, month_of
from crosswind.injectors.values.known_names import (
    CITIES,
    COUNTRIES,
    GIVEN_NAMES,
    GROUPS,
    list_near_cities,
    list_near_countries,
    list_near_names,
)
from crosswind.injectors.values.mentions import Mention
from crosswind.injectors.values.numerals import list_near
from crosswind.injectors.values.parameters import ValueType

_DIGITS = re.compile(r"\d+")
_AMOUNT = re.compile(r"\d+(?:[.,]\d+)*")
_ISO = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_DOTTED = re.compile(r"\d{4}([./])\d{1,2}\1\d{1,2}|\d{1,2}([./])\d{1,2}\2\d{4}")
"""A date with dots or slashes."""
_CLOCK = re.compile(r"\d{1,2}")
_WORD = re.compile(r"[^\W\d_]+\.?")
_CENTS = re.compile(r"[.,]\d{1,2}$")
_RUN_TOGETHER = re.compile(r"[a-z][A-Z]")
"""An identifier, which nobody says."""
_TRIES = 8
_MOST_COUNTED = 20
"""Numbers up to this are counts, and a rival is near; larger ones are amounts."""
_YEARS = range(1900, 2101)
_LONGEST_STEP = 5
"""Days by which a rival date differs at most: a slip, and no other season."""


_OF_CITIES = frozenset("city location place destination origin departure arrival from town".split())


def draw_rival(
    mention: Mention, rng: SeededRandom, elsewhere: Sequence[str] = (), taken: Collection[str] = ()
) -> str | None:
    """Another value of the mention's type, in its form; None where nothing fits. `elsewhere` are values of
    the same type in the conversation, for types that can't be made up.
    """
    barred = {mention.text.lower(), *(one.lower() for one in taken)}
    drawn = list(_draw_rivals(mention, rng, [one for one in elsewhere if one.lower() not in barred]))
    return next((one for one in drawn if one.lower() not in barred), None)


def draw_known_rival(
    mention: Mention, rng: SeededRandom, language: Language, taken: Collection[str] = ()
) -> str | None:
    """A well-known rival for a place or a person that the conversation has none for; None where its parameter
    doesn't say that it is a city or a person."""
    words = frozenset((mention.thing or "").split())
    known: Sequence[str] = ()
    cities = CITIES[language]
    group = next((group for group in (COUNTRIES, *GROUPS) if mention.text in group), ())
    if re.search(r"\d", mention.text) is not None:
        return None  # An address: no city is one of its kind.
    if group and mention.text not in cities:
        known = list_near_countries(mention.text) if group is COUNTRIES else group
    elif mention.type is ValueType.PLACE and (not words.isdisjoint(_OF_CITIES) or mention.text in cities):
        known = list_near_cities(mention.text, cities)
    elif mention.type is ValueType.PLACE and "country" in words:
        known = COUNTRIES
    elif mention.type in (ValueType.NAME, ValueType.PLACE) and mention.text in GIVEN_NAMES:
        known = list_near_names(mention.text)
    return draw_rival(mention, rng, known, taken) if known else None


def _draw_rivals(mention: Mention, rng: SeededRandom, elsewhere: list[str]) -> Iterator[str]:
    text = mention.text
    match mention.type:
        case ValueType.DATE:
            yield from _draw_dates(text, rng)
        case _ if _DOTTED.fullmatch(text) is not None:
            yield from _draw_dates(text, rng)
        case ValueType.TIME:
            latest = 12 if _is_half_day(text) else 23
            yield from (_shift(_CLOCK, text, rng, latest, low=1) for _ in range(_TRIES))
        case ValueType.NUMBER | ValueType.DURATION:
            yield from _draw_counts(text, rng)
        case ValueType.MONEY:
            yield from (_scale(text, rng) for _ in range(_TRIES))
        case ValueType.OPTION:
            spoken = (one for one in mention.options if not _RUN_TOGETHER.search(one))
            written = [_write_like(one, text) for one in spoken]
            if text.endswith("est") and any(one.endswith("est") for one in written):
                written = [one for one in written if one.endswith("est")]
            yield from rng.shuffled(written)
        case ValueType.ID:
            yield from (_change_digit(text, rng) for _ in range(_TRIES))
        case _:
            yield from rng.shuffled(elsewhere)


def _draw_dates(text: str, rng: SeededRandom) -> Iterator[str]:
    words = text.split()
    if (cycle := find_cycle(text)) or (len(words) > 1 and (cycle := find_cycle(words[-1]))):
        lead = text[: len(text) - len(words[-1])] if find_cycle(text) is None else ""
        others = [day for day in cycle if day.lower() != text[len(lead) :].lower()]
        yield from (f"{lead}{_write_like(day, text[len(lead) :])}" for day in rng.shuffled(others))
    elif (iso := _ISO.fullmatch(text)) is not None:
        for _ in range(_TRIES):
            step = timedelta(days=_draw_step(rng, _LONGEST_STEP))
            try:
                yield (date(*map(int, iso.groups())) + step).isoformat()
            except (ValueError, OverflowError):
                return  # No such day: nobody would take another for it.
    elif (month := month_of(words[0])) is not None and not re.search(r"(?<!\d)\d{1,2}(?!\d)", text):
        names = MONTHS[month[0]]
        others = [one for one in names if one != names[month[1] - 1]]
        yield from (text.replace(words[0], one, 1) for one in rng.shuffled(others))
    else:
        # The day of the month is the first number below 32 (`November 3rd`, `12. März`, `11月15日`).
        days = [one for one in _DIGITS.finditer(text) if 0 < int(one[0]) < 32 and len(one[0]) < 3]
        if not days:
            return
        at = days[-1] if "月" in text or re.match(r"\d{4}[./]", text) else days[0]
        for _ in range(_TRIES):
            day = int(at[0]) + _draw_step(rng, _LONGEST_STEP)
            if 0 < day < 29:
                rest = re.sub(r"^(?:st|nd|rd|th)\b", _ordinal(day), text[at.end() :])
                rest = rest.removeprefix("er")  # French has an ordinal for the first only.
                yield f"{text[: at.start()]}{day:0{len(at[0]) if at[0][0] == '0' else 1}d}{rest}"


def _ordinal(day: int) -> str:
    return "th" if 10 < day < 14 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")


def _draw_step(rng: SeededRandom, most: int) -> int:
    """1 to `most`, forwards or back."""
    step = 1 + int(rng.uniform() * most)
    return step if rng.chance(0.5) else -step


def _is_half_day(text: str) -> bool:
    return re.search(r"[ap]\.?m|o'clock|[上下]午|晚上", text, re.IGNORECASE) is not None


def _shift(number: re.Pattern[str], text: str, rng: SeededRandom, high: int, *, low: int) -> str:
    """The text with its first number moved by up to two; unchanged where that leads out of the bounds."""
    found = number.search(text)
    moved = int(found[0]) + _draw_step(rng, 2) if found else 0
    if found is None or not low <= moved <= high:
        return text
    width = len(found[0]) if found[0][0] == "0" else 1
    return f"{text[: found.start()]}{moved:0{width}d}{text[found.end() :]}"


def _draw_counts(text: str, rng: SeededRandom) -> Iterator[str]:
    for word in _WORD.findall(text):
        if near := list_near(word):  # None is `one`, behind which a noun stands in the singular.
            yield from (text.replace(word, _write_like(one, word), 1) for one in rng.shuffled(list(near)))
            return
    amount = _AMOUNT.search(text)
    value = int(amount[0]) if amount is not None and amount[0].isdecimal() else None
    if value == 0:
        return
    for _ in range(_TRIES):
        if value is not None and (value <= _MOST_COUNTED or value in _YEARS):
            highest = _YEARS.stop if value in _YEARS else _MOST_COUNTED + 3
            yield _shift(_DIGITS, text, rng, highest, low=2)
        else:
            yield _scale(text, rng)


def _scale(text: str, rng: SeededRandom) -> str:
    """The text with an amount near by, as round as it was. Cents stay."""
    found = _AMOUNT.search(text)
    if found is None:
        return text
    whole = _CENTS.sub("", found[0])
    digits = re.sub(r"\D", "", whole)
    value, unit = int(digits), 10 ** (len(digits) - len(digits.rstrip("0")))
    if unit == 1 and value % 5 == 0:
        unit = 5
    if value == 0 or (whole != found[0] and value < 100):
        return f"{text[: found.start()]}{_shift_decimal(found[0], rng)}{text[found.end() :]}"
    unit = max(unit, 10 ** (len(digits) - 2)) if value > _MOST_COUNTED else unit
    moved = max(unit, value + _draw_step(rng, 2) * unit)
    if len(str(moved)) != len(digits):
        return text  # The separators would stand elsewhere.
    places = iter(str(moved))
    shown = "".join(next(places) if one.isdigit() else one for one in whole)
    return f"{text[: found.start()]}{shown}{text[found.start() + len(whole) :]}"


def _shift_decimal(number: str, rng: SeededRandom) -> str:
    """A small number with decimals a fifth to a half higher or lower, with as many decimals."""
    mark = "," if "," in number else "."
    if number.count(mark) != 1:
        return number
    decimals = len(number) - number.rindex(mark) - 1
    share = (0.2 + 0.3 * rng.uniform()) * (1 if rng.chance(0.5) else -1)
    return f"{float(number.replace(mark, '.')) * (1 + share):.{decimals}f}".replace(".", mark)


def _change_digit(text: str, rng: SeededRandom) -> str:
    """An id with another digit in one place, but not its first."""
    places = [at for at, one in enumerate(text) if one.isdigit() and one.isascii()]
    if not places:
        return text
    at = rng.choice(places[1:] or places)
    return f"{text[:at]}{rng.choice([one for one in '123456789' if one != text[at]])}{text[at + 1 :]}"


def _write_like(word: str, like: str) -> str:
    """A word in the case, and with the spaces or underscores, of another."""
    if "_" not in like:
        word = word.replace("_", " ")
    if like.islower():
        return word.lower()
    if like.istitle() and word.islower():
        return word.title() if " " not in word else word[0].upper() + word[1:]
    return word.upper() if like.isupper() and len(like) > 1 else word
