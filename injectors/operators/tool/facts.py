"""The facts that a tool's result states, and where each stands in its text.

A fact is what could be false: a status, an amount, a date, a yes or no. What names a thing is none: ids,
codes, card numbers, file names, addresses, numbers of a list, what the call's own arguments hold. Results are
read as JSON (texts within it, too), as tables, as `label: value`, and as prose. Every scan is linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Any

import msgspec

from crosswind.injectors.operators.insertion import is_plain_text
from crosswind.injectors.operators.words import fields
from crosswind.injectors.operators.words.vocabularies import COUNTING, IN_PROSE
from crosswind.injectors.targets import ToolResultTarget
from crosswind.injectors.text.json_leaves import DEEPEST, MOST, follow, is_asked_for
from crosswind.injectors.text.json_payload import is_container, parse_json
from crosswind.injectors.text.json_spans import Frame, Leaf, find_leaves, open_string
from crosswind.injectors.text.tables import read_header, split_row
from crosswind.injectors.values.calendar import find_cycle
from crosswind.injectors.values.forms import LONGEST, find_forms
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
DEEPEST_TEXT = 2
"""Results within texts within results are read so deep."""


def find_facts(target: ToolResultTarget) -> list[Fact]:
    """The facts of a result, in order."""
    text = target.text
    value = parse_json(text)
    frame = Frame(text, ascii=text.isascii())
    if is_container(value):
        found = _in_json(frame, value)
    elif is_plain_text(value, text):
        found = _in_text(frame)
    else:
        return []
    free = [one for one in found if not is_asked_for(one.text, target)]
    return [one for one in free if one.prose or not _is_told(one, text)]


def _is_told(fact: Fact, text: str) -> bool:
    """Whether running text beside a word says the same: `"status": "sent"` by "The message was sent"."""
    if fact.kind is not FactKind.WORD or not fact.text.islower() or len(fact.text) < LEAST_TOLD:
        return False
    before, behind = text[: fact.frame.locate(fact.start)], text[fact.frame.locate(fact.end) :]
    return f" {fact.text}" in before or f" {fact.text}" in behind or f"{fact.text} " in behind


LEAST_TOLD = 4
"""Letters of a word that is looked for beside its field."""


def _in_json(frame: Frame, value: Any) -> Iterator[Fact]:
    for leaf in find_leaves(frame.text, MOST):
        if len(leaf.place) > DEEPEST:
            continue
        field = _name_field(value, leaf.place)
        if isinstance(leaf.value, str):
            yield from _in_string(frame, leaf, field)
        elif field and leaf.value is not None:
            token = frame.text[leaf.start : leaf.end]
            kind = _judge_flag(field) if isinstance(leaf.value, bool) else _judge_number(field, token)
            if kind is None and field == "count" and not _has_a_list(value, leaf):
                kind = FactKind.FIGURE  # What it counts isn't there: `wc`.
            if kind is not None and not _counts_a_list(value, leaf):
                yield Fact(kind, token, frame, leaf.start, leaf.end, field, leaf.place)


def _name_field(value: Any, place: Sequence[str | int]) -> str:
    """The name of a leaf's field: of an array's the field of the array, of a row's cell its column."""
    if len(place) > 2 and isinstance(place[-1], int) and isinstance(place[-2], int):
        holder = follow(value, place[:-3])
        names = (
            next((holder[key] for key in _COLUMNS if key in holder), None) if type(holder) is dict else None
        )
        if isinstance(names, list) and place[-1] < len(names):
            name = names[place[-1]]
            name = name.get("name") if isinstance(name, dict) else name
            return name if isinstance(name, str) else ""
    return next((key for key in reversed(place) if isinstance(key, str)), "")


_COLUMNS = ("columns", "fields", "headers", "header", "column_names")


def _has_a_list(value: Any, leaf: Leaf) -> bool:
    """Whether what a count counts may stand beside it, or the count holds a list itself."""
    holder = follow(value, leaf.place[:-1])
    if type(leaf.value) is not int or not isinstance(holder, dict):
        return True
    return any(isinstance(one, list | dict) for one in holder.values())


def _counts_a_list(value: Any, leaf: Leaf) -> bool:
    """Whether a number is the length of an array that stands beside it."""
    if type(leaf.value) is not int or not isinstance(leaf.place[-1], str):
        return False
    holder = follow(value, leaf.place[:-1])
    beside = holder.values() if isinstance(holder, dict) else ()
    return any(isinstance(one, list) and len(one) == leaf.value for one in beside)


def _in_string(frame: Frame, leaf: Leaf, field: str) -> Iterator[Fact]:
    text: str = leaf.value
    bare = text.strip()
    if not bare or len(text) > LONGEST:
        return
    if len(leaf.place) == 1 and _DIGITS.fullmatch(text) and split_field(field)[-1:] in _DIALLED:
        if frame.levels == 0 and frame.text.count('":') == 1:
            yield Fact(FactKind.DIGITS, text, open_string(frame, leaf), 0, len(text), field, leaf.place)
        return
    inner = open_string(frame, leaf)
    if bare[0] in "{[" and frame.levels < DEEPEST_TEXT and is_container(value := parse_json(text)):
        yield from _in_json(inner, value)
    elif len(text.split()) > MOST_WORDS or "\n" in bare or (len(text) > SHORT and not text.isascii()):
        yield from _in_text(inner)
    elif (found := _judge_cell(field, text)) is not None:
        kind, start, end = found
        yield Fact(kind, text[start:end], inner, start, end, field, leaf.place)


_DIGITS = re.compile(r"\d{4,6}|\+?\d[\d -]{6,16}\d")
_DIALLED = frozenset((word,) for word in ("zip", "zipcode", "postcode", "phone", "telephone", "mobile"))
MOST_WORDS = 3
"""More words than these are prose."""
SHORT = 16
"""Characters of a text in a script without spaces that may be a single word."""

_ISO = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?")
_QUANTITY = re.compile(
    r"(?:[A-Z]{3} |[$€£¥₹] ?)?(-?\d{1,12}(?:[.,]\d{1,6}){0,4})"
    r"(?: ?(?:[%€£¥₹℃]|°?[A-Za-zµ°][A-Za-z/²³]{0,9}\.?|[\u4e00-\u9fff]{1,2}))?"
)
_BARE = re.compile(r"-?\d+(?:[.,]\d+)*")
_WORDS = re.compile(r"[^\W\d_][\w'’ &-]*")


def _judge_cell(field: str, text: str) -> tuple[FactKind, int, int] | None:
    """What the short text of a field states, and which part of it; None where it names a thing."""
    words = split_field(field)
    if not field or words[-1:] in _NAMING or _squeeze(field) in fields.PROTOCOL:
        return None
    if (time := _judge_time(text)) is not None:
        return time, 0, len(text)
    if _ODD.fullmatch(text) and not _GROUPED.fullmatch(text):
        return None  # A version, or an address.
    if (quantity := _QUANTITY.fullmatch(text)) is not None:
        if _BARE.fullmatch(text) and (kind := _judge_number(field, text)) is not FactKind.FIGURE:
            return None if kind is None else (kind, 0, len(text))
        amount = not _BARE.fullmatch(text) or not fields.AMOUNTS.isdisjoint(words) or "." in text
        return (FactKind.FIGURE, *quantity.span(1)) if amount else None
    said = _WORDS.fullmatch(text) and not any(map(str.isdigit, text)) and text.lower() not in fields.OUTCOMES
    return (FactKind.WORD, 0, len(text)) if said else None


def _judge_time(text: str) -> FactKind | None:
    """Whether a whole text is a date or a time."""
    if _ISO.fullmatch(text):
        return FactKind.DATE
    forms = list(find_forms(text))
    return _WHOLE.get(forms[0][2]) if len(forms) == 1 and forms[0][:2] == (0, len(text)) else None


_WHOLE = {ValueType.DATE: FactKind.DATE, ValueType.TIME: FactKind.TIME}


def _squeeze(field: str) -> str:
    return "".join(split_field(field))


def _judge_flag(field: str) -> FactKind | None:
    said = _squeeze(field) in fields.PROTOCOL or not fields.DONE.isdisjoint(split_field(field))
    return None if said else FactKind.FLAG


_FIRST_SECOND, _LAST_SECOND = 946_684_800, 4_102_444_800
"""The years 2000 to 2100."""
LONGEST_COUNT = 8
"""Digits of the longest whole number that is no name, unless its field holds amounts."""


def _judge_number(field: str, token: str) -> FactKind | None:
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


_PERCENT = re.compile(r"(?<![\w.])(\d{1,6}(?:[.,]\d{1,3})?) ?%")
_LABELLED = re.compile(
    r"^[ \t*>-]{0,8}([^\W\d_][\w /]{1,24}?)[ \t]{0,4}[:=][ \t]{1,12}"
    r"([^\W\d_][\w'’ -]{1,30}?)[ \t]{0,4}(?:<[^<>\n]{1,80}>)?$",
    re.MULTILINE,
)
_LISTED = re.compile(r"(?:^|\n)[ \t>*-]{0,8}$")
_BEFORE_NAME = re.compile(
    r"(?:[#№@(/]|\d ?(?:of|von|de|/)|"
    r"\b(?:pages?|results?|lines?|steps?|chapter|section|fig(?:ure|\.)?|table|rows?|items?|"
    r"version|rev|order|id|port|pid|code|status|http|room|gate|flight|invoice|ticket|commit|part|vol(?:ume|\.)?|"
    r"no\.?|number|nr\.?|seite|página|top|level|index|uid|gid|card|account|ext|tel|phone|zip|"
    r"build|python|release|blocks?|links|inode)[ :#=]{0,3})$",
    re.IGNORECASE,
)
_BEHIND_COUNT = re.compile(
    r"[ \t]+(?:of\b|results?\b|matches\b|hits?\b|rows?\b|items?\b|entries\b|files?\b|directories\b|"
    r"commits?\b|objects?\b|records?\b|errors?\b|warnings?\b|problems?\b|issues?\b|lines?\b|passed\b|failed\b|tests?\b|changed\b|insertions?\b|deletions?\b)|[:)\]]",
    re.IGNORECASE,
)
_UNIT = re.compile(r"[ \u00a0-]?(?:°|µ|[^\W\d_]{1,12})")
_LABEL_BEFORE = re.compile(r"[^\W\d_][\w )%]{0,24}[:=][ \t]{0,12}$")
_CLOCK_BEFORE = re.compile(r"\d:\d\d $")
_LISTING = re.compile(r"[dlcbps-](?:[r-][w-][xsStT-]){3}")
_DECIMALS = re.compile(r"\d+[.,]\d+")
_ODD = re.compile(r"\d+(?:\.\d+){2,}")
_GROUPED = re.compile(r"[1-9]\d{0,2}(?:\.\d{3})+")
NEAR = 28


def _in_text(frame: Frame) -> Iterator[Fact]:
    """The facts of a text that is no JSON: tables first, then what else it says."""
    text = frame.text[:LONGEST]
    taken = bytearray(len(text))
    if "\n" in text:  # A header and its rows.
        yield from _in_tables(frame, text, taken)
    for fact in (*_in_labels(frame, text), *_in_prose(frame, text)):
        if 1 not in taken[fact.start : fact.end]:
            taken[fact.start : fact.end] = b"\1" * (fact.end - fact.start)
            yield fact


def _in_labels(frame: Frame, text: str) -> Iterator[Fact]:
    if ":" not in text and "=" not in text:
        return
    for match in _LABELLED.finditer(text):
        if (found := _judge_cell(match[1], match[2])) is not None and found[0] is FactKind.WORD:
            start, end = match.span(2)
            yield Fact(FactKind.WORD, match[2], frame, start, end, match[1], prose=True)


def _in_prose(frame: Frame, text: str) -> Iterator[Fact]:
    for match in _PERCENT.finditer(text) if "%" in text else ():
        if _ends_a_range(text, *match.span(1)):
            continue
        yield Fact(FactKind.FIGURE, match[1], frame, *match.span(1), prose=True)
    for start, end, kind in find_forms(text):
        if (found := _judge_form(text, start, end, kind)) is not None:
            stated, first, last = found
            if not _ends_a_range(text, first, last):
                yield Fact(stated, text[first:last], frame, first, last, prose=True)
    for match in IN_PROSE.finditer(text):
        if match[0] in COUNTING and _LIST_BEHIND.match(text, match.end()):
            continue
        yield Fact(FactKind.WORD, match[0], frame, *match.span(), prose=True)


def _judge_form(text: str, start: int, end: int, kind: ValueType) -> tuple[FactKind, int, int] | None:
    shown = text[start:end]
    match kind:
        case ValueType.DATE:
            if any(map(str.isdigit, shown)):
                whole = _ISO.match(text, start)
                return FactKind.DATE, start, whole.end() if whole else end
            beside = text[end : end + 3] + text[max(0, start - 3) : start]
            alone = shown[:1].isupper() and shown.lower() not in _FROM_TODAY and bool(find_cycle(shown))
            alone = alone and not any(map(str.isdigit, beside))
            return (FactKind.DATE, start, end) if alone else None
        case ValueType.TIME:
            return (FactKind.TIME, start, end) if ":" in shown else None
        case ValueType.MONEY | ValueType.DURATION:
            figure = _BARE.search(shown)
            return (FactKind.FIGURE, start + figure.start(), start + figure.end()) if figure else None
        case ValueType.NUMBER if shown[0].isdigit():
            stated = _judge_figure(text, start, end)
            return (stated, start, end) if stated else None
    return None


_FROM_TODAY = frozenset("today tomorrow yesterday heute morgen gestern hoy mañana ayer demain hier".split())
"""Days that only running text tells: its sentences go on from there."""
_UP_TO = (
    r"(?:[ \u00a0]?(?:°[CF]?|[%℃]|[^\W\d_]{1,3}))? ?(?:[-\u2013\u2014~\u301c\uff5e]|to|bis|à|a|から) ?[$€£]?"
)
_RANGE_BEHIND = re.compile(rf"{_UP_TO}\d")
_RANGE_BEFORE = re.compile(rf"\d{_UP_TO}$|\b(?:between|zwischen|entre)\b[^;\n]{{0,20}} ?$", re.IGNORECASE)
_LIST_BEHIND = re.compile(r"[^.!?:;\n]{1,60}(?:[:;][ \t]*\S|:?\n[ \t]*(?:[-*\u2022]|\d+[.)]))")
"""What a number in words counts stands behind it."""
_COUNTS_BEHIND = re.compile(
    r"[ \t]+(?!degrees|minutes|hours|seconds|percent|grad)[^\W\d_]{4,}[^.!?:;\n]{0,40}:\s", re.IGNORECASE
)
"""The same of a number in digits."""


def _ends_a_range(text: str, start: int, end: int) -> bool:
    """Whether a figure or a time is an end of a range, of which neither may pass the other."""
    behind = _RANGE_BEHIND.match(text, end)
    return behind is not None or _RANGE_BEFORE.search(text[max(0, start - NEAR) : start]) is not None


def _judge_figure(text: str, start: int, end: int) -> FactKind | None:
    """What a bare number in a text states; None for numbers of a list, a page, a version."""
    shown, before, behind = text[start:end], text[max(0, start - NEAR) : start], text[end : end + NEAR]
    if _BEFORE_NAME.search(before) or _BEHIND_COUNT.match(behind) or _ODD.fullmatch(shown):
        return None
    counts = shown.isdigit() and len(shown) < 3 and _COUNTS_BEHIND.match(text, end)
    if counts or (_LISTED.search(before) and behind[:1] in (".", ")", "]", ":", "\t", " ")):
        return None
    line = text[text.rfind("\n", 0, start) + 1 :][:12]
    if _LISTING.match(line) or before.endswith("-"):
        return None
    if len(shown) == 4 and shown.isdigit() and 1500 <= int(shown) < 2100:
        return None if _CLOCK_BEFORE.search(before) else FactKind.YEAR
    if shown.isdigit() and len(shown) > LONGEST_COUNT:
        return None
    unit = _UNIT.match(behind)
    said = unit is not None and (not unit[0].strip()[:1].isupper() or len(unit[0].strip()) < 4)
    return FactKind.FIGURE if _DECIMALS.fullmatch(shown) or said or _LABEL_BEFORE.search(before) else None


_RULE = re.compile(r"[ \t|+:=-]*")


def _in_tables(frame: Frame, text: str, taken: bytearray) -> Iterator[Fact]:
    """The facts in the rows of tables, by the names of their columns."""
    names: list[str] = []
    delimiter, at = "", 0
    for line in text.split("\n"):
        start, at = at, at + len(line) + 1
        if not names or line.count(delimiter) + 1 < len(names):
            delimiter, names = read_header(line)
            continue
        if _RULE.fullmatch(line):
            continue
        cells = split_row(line, delimiter)
        if len(cells) != len(names):
            names = []
            continue
        taken[start : start + len(line)] = b"\1" * len(line)
        for name, (first, last) in zip(names, cells, strict=True):
            cell = line[first:last]
            kind = _judge_number(name, cell) if _BARE.fullmatch(cell) else None
            found = (kind, 0, len(cell)) if kind else _judge_cell(name, cell)
            if found is not None:
                begin, end = start + first + found[1], start + first + found[2]
                yield Fact(found[0], text[begin:end], frame, begin, end, name)
