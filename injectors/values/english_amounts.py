"""English for about as many: what people say in place of a number, a measure, or a time that lasts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crosswind.injectors.text.languages import Language
from crosswind.injectors.values.numerals import spell

_LAST_SMALL, _LAST_FEW, _LAST_PAIRED = 12, 5, 10
_SIZES = ((1_000_000, "million"), (1_000, "thousand"), (100, "hundred"))
_HEDGES = ("about {}", "around {}", "roughly {}", "{} or so", "something like {}")
_ABOVE = ("just over {}", "a bit over {}", "a little more than {}")
_BELOW = ("just under {}", "almost {}", "nearly {}", "a little less than {}")
_NEAR, _CLOSE = 0.15, 0.07
"""The share of a number by which a round one may differ that is about the same, or just above or below."""


def list_amounts(value: int) -> Iterator[str]:
    """Words for about as many: `three or four`, `about a dozen`, `just over forty`, `a few hundred`."""
    if value < 2 or value >= 10**9:
        return
    if value <= _LAST_PAIRED:
        yield from _list_few(value)
        return
    if value in (11, 12, 13):
        yield from ("about a dozen", "around a dozen", "a dozen or so")
    yield from _list_round(value)
    for size, word in _SIZES:
        if value >= size:
            yield from _list_scaled(value / size, word)
            break


def _list_few(value: int) -> Iterator[str]:
    if value == 2:
        yield "a couple of"
    elif value <= _LAST_FEW:
        yield "a few"
    if value >= 4:
        yield "several"
    for low in (value - 1, value):
        if low >= 2:
            yield f"{spell(low, Language.EN)} or {spell(low + 1, Language.EN)}"


def _list_round(value: int) -> Iterator[str]:
    size = 10 ** (len(str(value)) - 1)
    near, low = (value + size // 2) // size * size, value // size * size
    if value in (near, 15):
        yield from (form.format(_say(value)) for form in _HEDGES if _say(value) != f"{value:,}")
        return
    if abs(value - near) <= value * _NEAR:
        close = abs(value - near) <= value * _CLOSE
        forms = (*_HEDGES, *((_ABOVE if near < value else _BELOW) if close else ()))
        said = dict.fromkeys((_say(near), f"{near:,}"))
        yield from (form.format(one) for one in said for form in forms)
    if low >= 20:
        yield from (f"over {_say(low)}", f"more than {_say(low)}")
        if low < 100:
            yield f"{_say(low)}-odd"


def _list_scaled(count: float, word: str) -> Iterator[str]:
    if 1.8 <= count < 2.6:
        yield f"a couple of {word}"
    elif 2.6 <= count < 10:
        yield f"a few {word}"
        if count >= 4:
            yield f"several {word}"


def _say(value: int) -> str:
    """A round number in words, where there are short ones for it."""
    for size, word in _SIZES:
        if value >= size and value % size == 0:
            count = value // size
            said = "a" if count == 1 else _say(count)
            return f"{said} {word}" if said.isalpha() else f"{value:,}"
    said = spell(value, Language.EN)
    return said if said.isalpha() else f"{value:,}"


def list_rounded(text: str) -> tuple[str, ...]:
    """About as much of a measure: `about 80 kg`."""
    found = re.fullmatch(r"(\d{1,6}) ?([a-z]+)", text)
    return () if found is None else tuple(_list_measures(int(found[1]), found[2]))


def _list_measures(value: int, unit: str) -> Iterator[str]:
    """A measure to the next round number, where it isn't round and that is near."""
    size = 5 * 10 ** max(0, len(str(value)) - 2)
    rounded = (value + size // 2) // size * size
    if value >= 2 * size and value != rounded and abs(value - rounded) <= value / 8:
        forms = (
            "about {}",
            "around {}",
            "roughly {}",
            "close to {}",
            *(_ABOVE if rounded < value else _BELOW),
        )
        yield from (f"{form.format(rounded)} {unit}" for form in forms)
    if value > _LAST_FEW and unit not in _ABSTRACT:
        low = (value - 1) // size * size
        high = low + size * (1 if value < low + size else 2)
        yield from (f"{about}between {low or 1} and {high} {unit}" for about in ("", "somewhere "))
    elif value > 2 and len(unit) > 3 and unit.endswith("s"):
        yield f"a few {unit}"


_ABSTRACT = ("x", "percent")


def list_spans(value: int, unit: str) -> Iterator[str]:
    """A time that lasts, as people round it: `a few nights`, `about a week`, `half an hour or so`."""
    one, days = unit.removesuffix("s"), _DAYS.get(unit.removesuffix("s"))
    if value == 1:
        return
    if value == 2:
        yield from (f"a couple of {unit}", f"{'an' if one == 'hour' else 'a'} {one} or two")
    elif value <= _LAST_FEW:
        yield f"a few {unit}"
    if 4 <= value <= _LAST_PAIRED:
        yield f"several {unit}"
    if 2 < value <= _LAST_PAIRED:
        low, said, high = (spell(one, Language.EN) for one in (value - 1, value, value + 1))
        yield from (f"{low} or {said} {unit}", f"{said} or {high} {unit}")
    if (said := spell(value, Language.EN)).isalpha():
        yield from (f"about {said} {unit}", f"around {said} {unit}", f"{said} {unit} or so")
    for low_days, high_days, forms in _ROUND_SPANS if days is not None else ():
        if value > _LAST_FEW and days is not None and low_days <= value * days < high_days:
            yield from forms


_DAYS = {"minute": 1 / 1440, "hour": 1 / 24, "day": 1, "night": 1, "week": 7, "month": 30, "year": 365}
_ROUND_SPANS = (
    (8 / 1440, 22 / 1440, ("a little while", "a short while")),
    (24 / 1440, 36 / 1440, ("half an hour or so", "about half an hour", "roughly half an hour")),
    (40 / 1440, 52 / 1440, ("just under an hour", "not quite an hour", "a bit less than an hour")),
    (55 / 1440, 70 / 1440, ("an hour or so", "about an hour", "roughly an hour")),
    (75 / 1440, 100 / 1440, ("an hour or two", "a bit over an hour")),
    (6 / 24, 11 / 24, ("several hours",)),
    (6, 9, ("about a week", "a week or so", "roughly a week")),
    (9, 13, ("a week or two",)),
    (13, 17, ("a couple of weeks", "about two weeks", "two weeks or so")),
    (17, 25, ("a few weeks",)),
    (26, 36, ("about a month", "a month or so")),
    (80, 200, ("a few months", "several months")),
    (330, 400, ("about a year", "a year or so")),
    (6 * 365, 10 * 365, ("several years",)),
    (10 * 365, 11 * 365, ("about a decade", "a decade or so")),
)
"""Spans of days, and what they are called."""


def list_decades(year: int) -> tuple[str, ...]:
    """When a year was: `the 1980s`, `the mid-1980s`, `the eighties`."""
    decade, at = year // 10 * 10, year % 10
    part = "early " if at < 4 else "mid-" if at < 7 else "late "
    told = (f"the {decade}s", f"the {part}{decade}s")
    if 1930 <= decade < 2000:
        name = f"{spell(decade % 100, Language.EN).removesuffix('y')}ies"
        return (*told, f"the {name}", f"the {part}{name}")
    return told
