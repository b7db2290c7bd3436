"""Rivals of a value, written as it is, and coarse forms: less exact words for it.

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
from crosswind.injectors.values.mentions import Mention
from crosswind.injectors.values.parameters import ValueType

_DIGITS = re.compile(r"\d+")
_AMOUNT = re.compile(r"\d+(?:[.,]\d+)*")
_ISO = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_CLOCK = re.compile(r"\d{1,2}")
_WORD = re.compile(r"[^\W\d_]+\.?")
_NUMBER_WORDS = (
    *("one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
)
_CENTS = re.compile(r"[.,]\d{1,2}$")
_TRIES = 8
_MOST_COUNTED = 20
"""Numbers up to this are counts, and a rival is near; larger ones are amounts."""
_LONGEST_STEP = 9
"""Days by which a rival date differs at most: a slip, and no other season."""


def draw_rival(
    mention: Mention, rng: SeededRandom, elsewhere: Sequence[str] = (), taken: Collection[str] = ()
) -> str | None:
    """Another value of the mention's type, in its form; None where nothing fits. `elsewhere` are values of
    the same type in the conversation, for types that can't be made up.
    """
    barred = {mention.text.lower(), *(one.lower() for one in taken)}
    drawn = list(_draw_rivals(mention, rng, [one for one in elsewhere if one.lower() not in barred]))
    return next((one for one in drawn if one.lower() not in barred), None)


def _draw_rivals(mention: Mention, rng: SeededRandom, elsewhere: list[str]) -> Iterator[str]:
    text = mention.text
    match mention.type:
        case ValueType.DATE:
            yield from _draw_dates(text, rng)
        case ValueType.TIME:
            latest = 12 if _is_half_day(text) else 23
            yield from (_shift(_CLOCK, text, rng, latest, low=1) for _ in range(_TRIES))
        case ValueType.NUMBER | ValueType.DURATION:
            yield from _draw_counts(text, rng)
        case ValueType.MONEY:
            yield from (_scale(text, rng) for _ in range(_TRIES))
        case ValueType.OPTION:
            written = [_write_like(option, text) for option in mention.options]
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
    else:
        # The day of the month is the first number below 32 (`November 3rd`, `12. März`, `11月15日`).
        days = [one for one in _DIGITS.finditer(text) if 0 < int(one[0]) < 32 and len(one[0]) < 3]
        if not days:
            return
        at = days[-1] if "月" in text else days[0]
        for _ in range(_TRIES):
            day = int(at[0]) + _draw_step(rng, _LONGEST_STEP)
            if 0 < day < 29:
                rest = re.sub(r"^(?:st|nd|rd|th)\b", _ordinal(day), text[at.end() :])
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
    """The text with its first number moved by up to three; unchanged where that leads out of the bounds."""
    found = number.search(text)
    moved = int(found[0]) + _draw_step(rng, 3) if found else 0
    if found is None or not low <= moved <= high:
        return text
    width = len(found[0]) if found[0][0] == "0" else 1
    return f"{text[: found.start()]}{moved:0{width}d}{text[found.end() :]}"


def _draw_counts(text: str, rng: SeededRandom) -> Iterator[str]:
    word = next((one for one in _WORD.findall(text) if one.lower() in _NUMBER_WORDS), None)
    if word is not None:
        at = _NUMBER_WORDS.index(word.lower())
        near = [one for one in _NUMBER_WORDS[max(1, at - 3) : at + 4] if one != word.lower()]
        # A noun in the singular stands behind `one`.
        yield from (text.replace(word, _write_like(one, word), 1) for one in rng.shuffled(near) if at > 0)
        return
    amount = _AMOUNT.search(text)
    small = amount is not None and amount[0].isdigit() and int(amount[0]) <= _MOST_COUNTED
    if small and amount is not None and int(amount[0]) < 2:
        return
    for _ in range(_TRIES):
        yield _shift(_DIGITS, text, rng, _MOST_COUNTED + 3, low=2) if small else _scale(text, rng)


def _scale(text: str, rng: SeededRandom) -> str:
    """The text with its amount a fifth to a half higher or lower, and as round as it was. Cents stay."""
    found = _AMOUNT.search(text)
    if found is None:
        return text
    whole = _CENTS.sub("", found[0])
    digits = re.sub(r"\D", "", whole)
    value, unit = int(digits), 10 ** (len(digits) - len(digits.rstrip("0")))
    if value == 0:
        return text
    share = (0.2 + 0.3 * rng.uniform()) * (1 if rng.chance(0.5) else -1)
    moved = max(unit, round(value * (1 + share) / unit) * unit)
    if len(str(moved)) != len(digits):
        return text  # The separators would stand elsewhere.
    places = iter(str(moved))
    shown = "".join(next(places) if one.isdigit() else one for one in whole)
    return f"{text[: found.start()]}{shown}{text[found.start() + len(whole) :]}"


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
    return word.upper() if like.isupper() and len(like) > 1 else word


_PARTS_OF_MONTH = {
    Language.EN: ("early {}", "mid-{}", "late {}"),
    Language.DE: ("Anfang {}", "Mitte {}", "Ende {}"),
    Language.ES: ("principios de {}", "mediados de {}", "finales de {}"),
    Language.FR: ("début {}", "mi-{}", "fin {}"),
    Language.ZH: ("{}上旬", "{}中旬", "{}下旬"),
    Language.JA: ("{}上旬", "{}中旬", "{}下旬"),
}
_PARTS_OF_DAY = {
    Language.EN: ("the early morning", "the morning", "the afternoon", "the evening"),
    Language.DE: ("früh am Morgen", "vormittags", "nachmittags", "abends"),
    Language.ES: ("la madrugada", "la mañana", "la tarde", "la noche"),
    Language.FR: ("l'aube", "la matinée", "l'après-midi", "la soirée"),
    Language.ZH: ("清晨", "上午", "下午", "晚上"),
    Language.JA: ("早朝", "午前中", "午後", "夜"),
}
_SIZES = (10, 30, 100, 250, 1_000, 2_500, 1_000_000)
"""Each size of `_ROUGHLY` ends below this number."""
_ROUGHLY: dict[Language, tuple[str, ...]] = {
    Language.EN: (
        *("a few", "a dozen or so", "several dozen", "a hundred or two"),
        *("a few hundred", "a thousand or two", "a few thousand"),
    ),
    Language.DE: (
        *("ein paar", "gut ein Dutzend", "einige Dutzend", "ein-, zweihundert"),
        *("ein paar hundert", "ein-, zweitausend", "ein paar tausend"),
    ),
    Language.ES: (
        *("un puñado de", "una docena larga de", "varias docenas de", "uno o dos centenares de"),
        *("unos cientos de", "uno o dos millares de", "unos miles de"),
    ),
    Language.FR: (
        *("quelques", "une bonne douzaine de", "plusieurs dizaines de", "une ou deux centaines de"),
        *("quelques centaines de", "un ou deux milliers de", "quelques milliers de"),
    ),
    Language.ZH: ("几", "十几", "几十", "一两百", "几百", "一两千", "几千"),
}
"""Words for the size of a number from 3 on."""


def coarsen(mention: Mention, language: Language) -> str | None:
    """A less exact form of a date, a time, a count or an amount; None where the language has none here."""
    match mention.type:
        case ValueType.DATE:
            return _coarsen_date(mention.text, language)
        case ValueType.TIME:
            return _coarsen_time(mention.text, language)
        case ValueType.NUMBER | ValueType.DURATION | ValueType.MONEY:
            return _coarsen_amount(mention.text, language)
        case _:
            return None


def _coarsen_date(text: str, language: Language) -> str | None:
    forms = _PARTS_OF_MONTH.get(language)
    if forms is None:
        return None
    iso = _ISO.fullmatch(text)
    if iso is not None:
        number, day = int(iso[2]), int(iso[3])
    elif (east := re.search(r"(\d{1,2})月(\d{1,2})", text)) is not None:
        number, day = int(east[1]), int(east[2])
    else:
        named = next((one for word in _WORD.findall(text) if (one := month_of(word))), None)
        days = [int(one) for one in _DIGITS.findall(text) if len(one) < 3]
        if named is None or not days:
            return None
        number, day = named[1], days[0]
    if not (1 <= number <= 12 and 1 <= day <= 31):
        return None
    names = MONTHS.get(language)
    month = names[number - 1] if names else f"{number}月"
    return forms[0 if day <= 10 else 1 if day <= 20 else 2].format(month)


def _coarsen_time(text: str, language: Language) -> str | None:
    forms, found = _PARTS_OF_DAY.get(language), _CLOCK.search(text)
    if forms is None or found is None:
        return None
    hour = int(found[0])
    if re.search(r"p\.?m|下午|晚上", text, re.IGNORECASE) and hour < 12:
        hour += 12
    return forms[0 if hour < 7 else 1 if hour < 12 else 2 if hour < 18 else 3] if hour < 24 else None


def _coarsen_amount(text: str, language: Language) -> str | None:
    """Words for the size of the first number, with what stands behind it: "a few hundred dollars"."""
    found, sizes = _AMOUNT.search(text), _ROUGHLY.get(language)
    if sizes is None or found is None or not re.fullmatch(r"\d+(?:[.,]\d{3})*(?:[.,]\d{1,2})?", found[0]):
        return None
    value = int(re.sub(r"\D", "", _CENTS.sub("", found[0])))
    if value < 3:
        return None  # `a few` of one or two would be untrue.
    rest = text[found.end() :].strip() or _NAME_OF_CURRENCY.get((text[: found.start()].strip(), language), "")
    words = next((words for below, words in zip(_SIZES, sizes, strict=True) if value < below), None)
    if words is None:
        return None
    space = "" if language is Language.ZH else " "
    return f"{words}{space}{_NAME_OF_CURRENCY.get((rest, language), rest)}".strip()


_NAME_OF_CURRENCY = {
    ("$", Language.EN): "dollars",
    ("€", Language.EN): "euros",
    ("£", Language.EN): "pounds",
    ("¥", Language.EN): "yen",
    ("₹", Language.EN): "rupees",
    ("€", Language.DE): "Euro",
    ("$", Language.DE): "Dollar",
    ("€", Language.ES): "euros",
    ("$", Language.ES): "dólares",
    ("€", Language.FR): "euros",
    ("$", Language.FR): "dollars",
}
