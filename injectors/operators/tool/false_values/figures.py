"""Figures as results write them: their groups of digits, their decimals and their zeros."""

from __future__ import annotations

import re

_FIGURE = re.compile(r"-?\d+(?:([.,'])\d+(?:\1\d+)*(?:(?!\1)[.,]\d+)?)?")
"""Digits, the mark between their groups or before their decimals, and where it groups, a second one."""


def _separate(text: str) -> tuple[str, str]:
    """What groups the digits of a number, and what is before its decimals; "" where there is no such."""
    marks = [one for one in text if one in ".,'"]
    if not marks:
        return "", ""
    last = marks[-1]
    behind = len(text) - text.rindex(last) - 1
    first = text.index(last)
    if len(set(marks)) > 1:
        return marks[0], last
    grouped = behind == 3 and 0 < first <= 3 and text[0] != "0" and (last == "," or len(marks) > 1)
    return (last, "") if grouped or len(marks) > 1 else ("", last)


def read_figure(text: str) -> float | None:
    """The value of a figure as it is written (`430,000`, `21,5`, `-3.25`); None where that can't be told."""
    if _FIGURE.fullmatch(text) is None:
        try:
            return float(text) if "e" in text.lower() and abs(float(text)) < 1e300 else None
        except ValueError:
            return None
    if len(text) > 24:
        return None
    group, point = _separate(text.lstrip("-"))
    plain = text.replace(group, "") if group else text
    return float(plain.replace(point, ".") if point else plain)


def write_figure(value: float, like: str, *, round_: bool = True) -> str | None:
    """The value as the figure `like` is written: its decimals, its groups, and its zeros at the end, or none:
    JSON writes no 1.20."""
    if _FIGURE.fullmatch(like) is None:
        return f"{value:.4g}" if abs(value) < 1e300 else None
    group, point = _separate(like.lstrip("-"))
    decimals = len(like) - like.rindex(point) - 1 if point else 0
    digits = re.sub(r"\D", "", like)
    zeros = len(digits) - len(digits.rstrip("0")) if round_ and not decimals else 0
    unit = 10 ** max(0, min(zeros, len(digits) - 2))
    if point and round_ and abs(value) >= LEAST_WHOLE and not like.rpartition(point)[2].strip("0"):
        value = round(value)
    elif point and like[-1] != "0" and f"{value:.{decimals}f}"[-1] == "0":
        value -= 10.0**-decimals if value > 0 else 0.0
    shown = f"{round(value / unit) * unit if unit > 1 else value:,.{decimals}f}"
    whole, _, rest = shown.partition(".")
    return whole.replace(",", group) + (point + rest if rest else "")


LEAST_WHOLE = 10
"""A figure from here on that is written with zeros behind its point stays a whole number."""
