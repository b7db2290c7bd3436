"""Coarse forms of a value: less exact words for a date, a time or a stretch of it, which leave it open."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from crosswind.injectors.text.languages import UNSPACED, Language
from crosswind.injectors.values.calendar import MONTHS, month_of
from crosswind.injectors.values.english_amounts import list_spans
from crosswind.injectors.values.mentions import Mention
from crosswind.injectors.values.numerals import read_numeral, spell
from crosswind.injectors.values.parameters import ValueType

_DIGITS = re.compile(r"\d+")
_ISO = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_CLOCK = re.compile(r"\d{1,2}")
_WORD = re.compile(r"[^\W\d_]+\.?")
_AMOUNT = re.compile(r"\d+(?:[.,]\d+)*")
_CENTS = re.compile(r"[.,]\d{1,2}$")
_PLAIN = re.compile(r"\d+(?:[.,]\d{3})*(?:[.,]\d{1,2})?")

_PARTS_OF_MONTH: Mapping[Language, tuple[tuple[str, ...], ...]] = {
    Language.EN: (
        ("early {}", "the first half of {}", "{}"),
        ("mid-{}", "the middle of {}", "{}"),
        ("late {}", "the second half of {}", "{}"),
    ),
    Language.DE: (("Anfang {}",), ("Mitte {}",), ("Ende {}",)),
    Language.ES: (("principios de {}",), ("mediados de {}",), ("finales de {}",)),
    Language.FR: (("début {}",), ("mi-{}",), ("fin {}",)),
    Language.ZH: (("{}上旬", "{}"), ("{}中旬", "{}"), ("{}下旬", "{}")),
    Language.JA: (("{}上旬", "{}初め"), ("{}中旬", "{}半ば"), ("{}下旬", "{}終わり")),
    Language.AR: (("بداية {}", "أوائل {}"), ("منتصف {}",), ("نهاية {}", "أواخر {}")),
}
_PARTS_OF_DAY: Mapping[Language, tuple[tuple[int, tuple[str, ...]], ...]] = {
    Language.EN: (
        (5, ("the middle of the night", "late at night")),
        (9, ("the early morning", "early in the morning", "the morning", "first thing in the morning")),
        (12, ("the morning", "before noon", "before lunch", "late in the morning", "the late morning")),
        (13, ("around lunchtime", "around midday", "the middle of the day")),
        (15, ("the early afternoon", "the afternoon", "after lunch", "early in the afternoon")),
        (17, ("the afternoon", "the late afternoon", "late in the afternoon", "after lunch")),
        (18, ("the late afternoon", "late in the afternoon")),
        (21, ("the evening", "the early evening", "early in the evening")),
        (24, ("the late evening", "late in the evening", "the evening")),
    ),
    Language.DE: (
        (8, ("früh am Morgen",)),
        (12, ("vormittags",)),
        (13, ("mittags",)),
        (18, ("nachmittags",)),
        (24, ("abends",)),
    ),
    Language.ES: ((6, ("la madrugada",)), (13, ("la mañana",)), (20, ("la tarde",)), (24, ("la noche",))),
    Language.FR: (
        (6, ("au petit matin",)),
        (10, ("dans la matinée",)),
        (12, ("en fin de matinée", "dans la matinée")),
        (13, ("en milieu de journée",)),
        (18, ("dans l'après-midi",)),
        (24, ("en soirée",)),
    ),
    Language.ZH: (
        (6, ("清晨",)),
        (12, ("上午",)),
        (13, ("中午",)),
        (18, ("下午",)),
        (24, ("晚上",)),
    ),
    Language.JA: (
        (6, ("早朝",)),
        (11, ("午前中",)),
        (14, ("お昼",)),
        (17, ("午後",)),
        (19, ("夕方",)),
        (24, ("夜",)),
    ),
    Language.AR: ((11, ("الصباح",)), (15, ("الظهر",)), (18, ("العصر",)), (24, ("المساء",))),
}
"""Each part of the day ends before that hour."""


def list_coarse_forms(mention: Mention, language: Language) -> tuple[str, ...]:
    """The less exact forms of a date, a time or a stretch of it that the language has; often none. A
    number and an amount of money have none: whether people round them, hangs on the sentence."""
    match mention.type:
        case ValueType.DATE:
            return tuple(_list_dates(mention.text, language))
        case ValueType.TIME:
            return _list_times(mention.text, language)
        case ValueType.DURATION:
            return tuple(_list_spans(mention, language))
        case _:
            return ()


def _list_dates(text: str, language: Language) -> Iterator[str]:
    named = _find_day(text)
    if named is None:
        if language is Language.EN:
            yield from _NEAR_DAYS.get(text.lower(), ())
        return
    number, day = named
    if 1 <= number <= 12 and 1 <= day <= 31:
        names = MONTHS.get(language)
        month = names[number - 1] if names else f"{number}月"
        yield from (form.format(month) for form in _PARTS_OF_MONTH[language][min((day - 1) // 10, 2)])
        for first, last, form in _ENGLISH_WEEKS if language is Language.EN else ():
            if first <= day <= last:
                yield form.format(month)


_ENGLISH_WEEKS = (
    (2, 7, "the first week of {}"),
    (8, 14, "the second week of {}"),
    (15, 21, "the third week of {}"),
    (26, 31, "the last week of {}"),
)


def is_whole(form: str) -> bool:
    """Whether the form needs neither a preposition nor a hedge: `towards the end of the week`."""
    return form in _WHOLE or form.startswith("around ")


_WEEK = {
    "monday": ("early in {}", "at the start of {}", "in the first few days of {}"),
    "tuesday": ("early in {}", "in the first half of {}", "in the first few days of {}"),
    "wednesday": ("around the middle of {}", "in the middle of {}", "halfway through {}"),
    "thursday": ("towards the end of {}", "later in {}", "in the second half of {}"),
    "friday": ("towards the end of {}", "later in {}", "at the end of {}"),
}
_NEAR_DAYS: Mapping[str, tuple[str, ...]] = {
    **{
        day: (*(form.format("the week") for form in forms), "sometime this week", "one day this week")
        for day, forms in _WEEK.items()
    },
    **{
        f"next {day}": (
            *(form.format("next week") for form in forms),
            *("sometime next week", "some day next week", "one day next week"),
        )
        for day, forms in _WEEK.items()
    },
    **dict.fromkeys(
        ("saturday", "sunday"),
        ("at the weekend", "this weekend", "sometime this weekend", "over the weekend", "on the weekend"),
    ),
    "tomorrow": (
        *("in the next day or two", "sometime in the next couple of days", "in the next few days"),
        "within the next couple of days",
    ),
    "next week": ("in the next week or two", "in the next couple of weeks"),
    "next month": ("in the next month or two", "in the next few weeks", "in the coming weeks"),
}
"""What English says less exactly for a day told from today."""
_MOMENTS = frozenset(
    form
    for _, forms in _PARTS_OF_DAY[Language.EN]
    for form in forms
    if form.startswith(("after ", "around ", "before ", "early ", "first ", "late ", "mid-", "towards "))
)
_WHOLE = frozenset(form for forms in _NEAR_DAYS.values() for form in forms) | _MOMENTS


def _find_day(text: str) -> tuple[int, int] | None:
    """The month and the day of a date that names both."""
    if (iso := _ISO.fullmatch(text)) is not None:
        return int(iso[2]), int(iso[3])
    if (east := re.search(r"(\d{1,2})月(\d{1,2})", text)) is not None:
        return int(east[1]), int(east[2])
    named = next((one for word in _WORD.findall(text) if (one := month_of(word))), None)
    days = [int(one) for one in _DIGITS.findall(text) if len(one) < 3]
    return (named[1], days[0]) if named is not None and days else None


def _list_times(text: str, language: Language) -> tuple[str, ...]:
    found = _CLOCK.search(text)
    if found is None:
        return ()
    hour = int(found[0])
    sharp = language is Language.EN and hour > 0 and re.search(r"[:.h][0-5]\d", text) is None
    told = (f"around {spell((hour - 1) % 12 + 1, language)}",) if sharp else ()
    if re.search(r"p\.?m|下午|晚上|午後|مساء", text, re.IGNORECASE) and hour < 12:
        hour += 12
    parts = next((forms for below, forms in _PARTS_OF_DAY[language] if hour < below), ())
    return (*parts, *told)


def _list_spans(mention: Mention, language: Language) -> Iterator[str]:
    """Words for about as long: "three or four nights"."""
    text = mention.text
    if "-" in text:
        return
    found = _AMOUNT.search(text) or next(
        (word for word in _WORD.finditer(text) if read_numeral(word[0]) is not None), None
    )
    value = None if found is None else read_count(found[0])
    if found is None or value is None:
        return
    unit = text[found.end() :].strip()
    if language is Language.EN:
        yield from (f"{text} or two",) if value == 1 else list_spans(value, unit)
        return
    space = "" if language in UNSPACED or not unit else " "
    words = _RANGES.get(language)
    yield from (f"{form}{space}{unit}" for form in words(value)) if words is not None else ()


def read_count(text: str) -> int | None:
    """The whole number that a text says, in digits or in a word; None for others."""
    if (value := read_numeral(text)) is not None:
        return value
    return int(re.sub(r"\D", "", _CENTS.sub("", text))) if _PLAIN.fullmatch(text) else None


_FEW = range(3, 13)
"""What a few are."""


def _german(value: int) -> Iterator[str]:
    yield from ("ein paar" for _ in range(value in _FEW))


def _spanish(value: int) -> Iterator[str]:
    if 2 < value < 10:
        for low in (value - 1, value):
            yield f"{spell(low, Language.ES)} o {spell(low + 1, Language.ES)}"
        yield "un puñado de"


def _french(value: int) -> Iterator[str]:
    yield from ("quelques" for _ in range(value in _FEW))


def _chinese(value: int) -> Iterator[str]:
    yield from ("几" for _ in range(2 < value < 10))


def _japanese(value: int) -> Iterator[str]:
    yield from ("数" for _ in range(2 < value < 10))


_RANGES: Mapping[Language, Callable[[int], Iterator[str]]] = {
    Language.DE: _german,
    Language.ES: _spanish,
    Language.FR: _french,
    Language.ZH: _chinese,
    Language.JA: _japanese,
}
