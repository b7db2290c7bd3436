"""Figures, sums and dates as people read them."""

from __future__ import annotations

import re
from calendar import month_abbr, month_name
from typing import Any

from crosswind.injectors.operators.tool.facts import split_field
from crosswind.injectors.operators.words import fields

_MONEY = frozenset("amount balance cost due fare fee paid price refund salary subtotal tax total".split())
"""Words of fields that hold sums of money, which have two decimals."""
_SIGNS = {"USD": "$", "EUR": "\u20ac", "GBP": "\u00a3"}
_WITHOUT_CENTS = frozenset({"JPY", "YEN", "KRW", "WON", "VND", "CLP", "ISK", "HUF"})
"""Currencies whose sums have no decimals."""
_UNITS = {
    "km": " km",
    "kg": " kg",
    "m": " m",
    "cm": " cm",
    "mm": " mm",
    "kph": " km/h",
    "kmh": " km/h",
    "mph": " mph",
    "minutes": " min",
    "min": " min",
    "mins": " min",
    "hours": " h",
    "seconds": " s",
    "ms": " ms",
    "miles": " mi",
    "percent": "%",
    "pct": "%",
    "percentage": "%",
    "humidity": "%",
    "calories": " kcal",
    "kwh": " kWh",
    "mb": " MB",
    "gb": " GB",
    "celsius": " \u00b0C",
    "fahrenheit": " \u00b0F",
    "stars": " stars",
    "nights": " nights",
    "days": " days",
    "passengers": " passengers",
}
"""What stands behind a figure, by the last word of its field's name."""
_PLAIN = frozenset({"year", "expires", "timestamp", "time", "epoch", "code", "number"})
"""Words of fields whose figures have no thousands."""
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d:\d\d)(?::\d\d)?Z?)?")


def display(key: str, value: Any, style: int, currency: Any = None) -> str | None:
    """A field's value as people read it; None where that says it as the value does. `style` is 0 to 3."""
    words = split_field(key)
    if isinstance(value, str):
        return _display_date(value, style)
    if isinstance(value, bool) or not isinstance(value, int | float) or not key.isidentifier():
        return None
    if not words or words[-1] in fields.NAMING or not is_readable(value):
        return None
    counted = isinstance(value, int) or (value.is_integer() and words == ("amount",))
    if not _MONEY.isdisjoint(words) and (not counted or isinstance(currency, str)):
        whole = not _WITHOUT_CENTS.isdisjoint((str(currency), *map(str.upper, words)))
        return _display_sum(value, currency, style, "" if whole else ".2f")
    if unit := _UNITS.get(words[-1]):
        return f"{value:,}{unit}" if value != 1 else None
    return _group(value) if abs(value) >= LEAST_GROUPED and _PLAIN.isdisjoint(words) else None


def is_readable(value: float) -> bool:
    """Whether people read the figure as digits: it is finite, and not too long."""
    return abs(value) <= LARGEST and len(repr(value)) <= MOST_DIGITS


LARGEST, MOST_DIGITS = 1e15, 12


def _group(value: float) -> str:
    """A figure with thousands, and no decimals that say nothing."""
    return f"{value:,.0f}" if isinstance(value, float) and value.is_integer() else f"{value:,}"


LEAST_GROUPED = 1_000


def _display_sum(value: float, currency: Any, style: int, decimals: str) -> str:
    said = f"{abs(value):,{decimals}}" if decimals else _group(abs(value))
    before = "-" if value < 0 else ""
    if not isinstance(currency, str) or not re.fullmatch("[A-Z]{3}", currency):
        return before + said
    sign = _SIGNS.get(currency)
    return f"{before}{sign}{said}" if sign and style % 2 else f"{before}{said} {currency}"


def _display_date(value: str, style: int) -> str | None:
    found = _DATE.fullmatch(value)
    if found is None or not 1 <= int(found[2]) <= MONTHS:
        return None
    year, month, day = found[1], int(found[2]), int(found[3])
    said = (
        f"{day} {month_name[month]} {year}",
        f"{month_abbr[month]} {day}, {year}",
        f"{day:02d}/{month:02d}/{year}",
        f"{day} {month_abbr[month]} {year}",
    )[style]
    return f"{said}, {found[4]}" if found[4] else said


MONTHS = 12
