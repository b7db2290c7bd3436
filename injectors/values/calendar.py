"""Words of dates in the languages that values are found in: months, weekdays, and days told from today."""

from __future__ import annotations

MONTHS: dict[str, tuple[str, ...]] = {
    language: tuple(names.split())
    for language, names in {
        "en": "January February March April May June July August September October November December",
        "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
        "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "ar": "يناير فبراير مارس أبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر",
        "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    }.items()
}
WEEKDAYS: dict[str, tuple[str, ...]] = {
    "en": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "de": ("Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag"),
    "es": ("lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo"),
    "fr": ("lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"),
    "zh": ("周一", "周二", "周三", "周四", "周五", "周六", "周日"),
    "ja": ("月曜日", "火曜日", "水曜日", "木曜日", "金曜日", "土曜日", "日曜日"),
    "ar": ("الاثنين", "الثلاثاء", "الأربعاء", "الخميس", "الجمعة", "السبت", "الأحد"),
}
NEAR_DAYS: dict[str, tuple[str, ...]] = {
    "en": ("today", "tomorrow", "the day after tomorrow"),
    "en, weeks": ("this week", "next week", "the week after next"),
    "en, months": ("this month", "next month"),
    "en, past months": ("last month", "the month before last"),
    "en, years": ("this year", "next year"),
    "en, past years": ("last year", "the year before last"),
    "en, weekends": ("this weekend", "next weekend"),
    "de": ("heute", "morgen", "übermorgen"),
    "es": ("hoy", "mañana", "pasado mañana"),
    "fr": ("aujourd'hui", "demain", "après-demain"),
    "zh": ("今天", "明天", "后天"),
    "ja": ("今日", "明日", "明後日"),
    "ar": ("اليوم", "غدا", "بعد غد"),
}
"""Each list is of days that one may be said for another: rivals of one another."""


def _list_month_words() -> dict[str, tuple[str, int]]:
    words: dict[str, tuple[str, int]] = {}
    for language, names in MONTHS.items():
        for number, name in enumerate(names, 1):
            shortest = 3 if language == "en" else len(name)
            for size in range(shortest, len(name) + 1):
                words.setdefault(name[:size].lower(), (language, number))
    return words


MONTH_WORDS = _list_month_words()
"""The language and number (1 to 12) of each month's name and English abbreviation, in lower case."""


def month_of(word: str) -> tuple[str, int] | None:
    """The language and number of a month's name or abbreviation, with or without a stop; None for others."""
    return MONTH_WORDS.get(word.rstrip(".").lower())


def find_cycle(word: str) -> tuple[str, ...] | None:
    """The weekdays, or the days told from today, that a word is one of; None if it is none."""
    lowered = word.lower()
    for table in (WEEKDAYS, NEAR_DAYS):
        for names in table.values():
            if lowered in (name.lower() for name in names):
                return names
    return None
