"""English for about as many: what people say in place of a year, a number, or a time that lasts."""

from __future__ import annotations

from collections.abc import Iterator

from crosswind.injectors.text.languages import Language
from crosswind.injectors.values.numerals import spell

_LAST_FEW, _LAST_SPELLED, _LAST_PAIRED = 5, 8, 10


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
    if 2 < value <= _LAST_SPELLED:
        low, said, high = (spell(one, Language.EN) for one in (value - 1, value, value + 1))
        yield from (f"{low} or {said} {unit}", f"{said} or {high} {unit}")
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
    (18 * 365, 23 * 365, ("about two decades", "a couple of decades")),
    (25 * 365, 45 * 365, ("a few decades", "several decades")),
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


def list_rounded(value: int) -> tuple[str, ...]:
    """About how much it is, where people say so: `just under 20`, `a few hundred`. None is a number that
    could be taken for the value."""
    if value < _LEAST_ROUNDED:
        return ()
    several = next(((size, name) for size, name in _SIZES if value % size == 0 and value // size < 10), None)
    if several is not None and value // several[0] > 1:
        many, name = value // several[0], several[1]
        words = ("a couple of",) if many == 2 else ("a few", "several") if many < 6 else ("several",)
        return tuple(f"{word} {name}" for word in words)
    step = next((step for most, step in _STEPS if value < most), 1000)
    wide = value % step == 0
    step = 10 * step if wide else step
    if value % step == 0 or value < step:
        return ()
    low = value - value % step
    below, above = f"{low:,}" if low != 1000 else "a thousand", f"{low + step:,}"
    if not wide and value - low < step * 0.4:
        return (f"a bit over {below}", f"a little over {below}", f"just over {below}")
    if not wide and value - low > step * 0.6:
        return (f"just under {above}", f"a little under {above}", f"almost {above}")
    return (f"between {low:,} and {above}", f"somewhere between {low:,} and {above}")


_LEAST_ROUNDED = 13
_SIZES = ((100, "hundred"), (1000, "thousand"))
_STEPS = ((200, 10), (1000, 100), (1500, 500), (20_000, 1000))
"""Up to which value people round to which step."""
