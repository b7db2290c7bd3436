"""A fact that a tool's result states, and what the value of a field states.

A fact is what could be false: a status, an amount, a date, a yes or no. What names a thing is none: ids,
codes, card numbers, file names, addresses, numbers of a list.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache

import msgspec

from crosswind.injectors.operators.words import fields
from crosswind.injectors.text.json_spans import Frame
from crosswind.injectors.values.forms import find_forms
from crosswind.injectors.values.parameters import ValueType, split_name


class FactKind(StrEnum):
    WORD = "word"
    FLAG = "flag"
    FIGURE = "figure"
    YEAR = "year"
    DATE = "date"
    TIME = "time"
    EPOCH = "epoch"
    """A time as the seconds or milliseconds since 1970."""
    DIGITS = "digits"
    """A postcode or a telephone number, where the result says nothing else."""


class Fact(msgspec.Struct, frozen=True, gc=False):
    """A fact as it is written: frame.text[start:end]."""

    kind: FactKind
    text: str
    frame: Frame
    start: int
    end: int
    field: str = ""
    """The name of its field, column or label."""
    place: tuple[str | int, ...] = ()
    """Where it stands in a JSON result."""
    prose: bool = False
    """Whether it stands in running text, where what is said twice is the same fact."""

    @property
    def words(self) -> tuple[str, ...]:
        return split_field(self.field)

    @property
    def about(self) -> tuple[str, ...]:
        """The words of its field and of the one that holds it: `frontLeft` in `tirePressure`."""
        holder = next((one for one in reversed(self.place[:-1]) if isinstance(one, str)), "")
        return (*self.words, *split_field(holder))

    def replace(self, text: str) -> tuple[int, int, str]:
        """The edit of the whole result that puts this text in the fact's place."""
        frame = self.frame
        return frame.locate(self.start), frame.locate(self.end), frame.escape(text)


@lru_cache(4096)
def split_field(name: str) -> tuple[str, ...]:
    """The words of a field's name in lower case."""
    return split_name(name.replace(" ", "_").replace("-", "_")) if len(name) <= LONGEST_FIELD else ()


LONGEST_FIELD = 64
_NAMING = frozenset((word,) for word in fields.NAMING)
ISO = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?")
_QUANTITY = re.compile(
    r"(?:[A-Z]{3} |[$€£¥₹] ?)?(-?\d{1,12}(?:[.,]\d{1,6}){0,4})"
    r"(?: ?(?:[%€£¥₹℃]|°?[A-Za-zµ°][A-Za-z/²³]{0,9}\.?|[\u4e00-\u9fff]{1,2}))?"
)
BARE = re.compile(r"-?\d+(?:[.,]\d+)*")
_WORDS = re.compile(r"[^\W\d_][\w'’ &-]*")
ODD = re.compile(r"\d+(?:\.\d+){2,}")
_GROUPED = re.compile(r"[1-9]\d{0,2}(?:\.\d{3})+")


def judge_cell(field: str, text: str) -> tuple[FactKind, int, int] | None:
    """What the short text of a field states, and which part of it; None where it names a thing."""
    words = split_field(field)
    if not field or words[-1:] in _NAMING or _squeeze(field) in fields.PROTOCOL:
        return None
    if (time := judge_time(text)) is not None:
        return time, 0, len(text)
    if ODD.fullmatch(text) and not _GROUPED.fullmatch(text):
        return None  # A version, or an address.
    if (quantity := _QUANTITY.fullmatch(text)) is not None:
        if BARE.fullmatch(text) and (kind := judge_number(field, text)) is not FactKind.FIGURE:
            return None if kind is None else (kind, 0, len(text))
        amount = not BARE.fullmatch(text) or not fields.AMOUNTS.isdisjoint(words) or "." in text
        return (FactKind.FIGURE, *quantity.span(1)) if amount else None
    said = _WORDS.fullmatch(text) and not any(map(str.isdigit, text)) and text.lower() not in fields.OUTCOMES
    return (FactKind.WORD, 0, len(text)) if said else None


def judge_time(text: str) -> FactKind | None:
    """Whether a whole text is a date or a time."""
    if ISO.fullmatch(text):
        return FactKind.DATE
    forms = list(find_forms(text))
    return _WHOLE.get(forms[0][2]) if len(forms) == 1 and forms[0][:2] == (0, len(text)) else None


_WHOLE = {ValueType.DATE: FactKind.DATE, ValueType.TIME: FactKind.TIME}


def _squeeze(field: str) -> str:
    return "".join(split_field(field))


def judge_flag(field: str) -> FactKind | None:
    said = _squeeze(field) in fields.PROTOCOL or not fields.DONE.isdisjoint(split_field(field))
    return None if said else FactKind.FLAG


_FIRST_SECOND, _LAST_SECOND = 946_684_800, 4_102_444_800
"""The years 2000 to 2100."""
LONGEST_COUNT = 8
"""Digits of the longest whole number that is no name, unless its field holds amounts."""


def judge_number(field: str, token: str) -> FactKind | None:
    """What a number of this field states; None where it names a thing."""
    words = split_field(field)
    if not field or words[-1:] in _NAMING or _squeeze(field) in fields.PROTOCOL:
        return None
    if ("card" in words and words[-1:] not in (("balance",), ("limit",))) or "account" in words[-1:]:
        return None
    digits = token.lstrip("-")
    if not digits.isdigit():
        return FactKind.FIGURE
    value = int(digits) if len(digits) < 20 else 0
    seconds = value // 1000 if len(digits) == 13 else value
    if _FIRST_SECOND <= seconds <= _LAST_SECOND and not fields.TIMES.isdisjoint(words):
        return FactKind.EPOCH
    if len(digits) > LONGEST_COUNT and fields.AMOUNTS.isdisjoint(words):
        return None
    return FactKind.YEAR if "year" in words and 1500 <= value < 2100 else FactKind.FIGURE
