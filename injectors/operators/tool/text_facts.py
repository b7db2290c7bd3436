"""The facts of a text that is no JSON: of its tables, its labels and its sentences. Every scan is linear."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crosswind.injectors.operators.tool.facts import (
    BARE,
    ISO,
    LONGEST_COUNT,
    ODD,
    Fact,
    FactKind,
    judge_cell,
    judge_number,
)
from crosswind.injectors.operators.words.vocabularies import COUNTING, IN_PROSE
from crosswind.injectors.text.json_spans import Frame
from crosswind.injectors.text.tables import read_header, split_row
from crosswind.injectors.values.calendar import find_cycle
from crosswind.injectors.values.forms import LONGEST, find_forms
from crosswind.injectors.values.parameters import ValueType

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
NEAR = 28


def find_in_text(frame: Frame) -> Iterator[Fact]:
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
        if (found := judge_cell(match[1], match[2])) is not None and found[0] is FactKind.WORD:
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
                whole = ISO.match(text, start)
                return FactKind.DATE, start, whole.end() if whole else end
            beside = text[end : end + 3] + text[max(0, start - 3) : start]
            alone = shown[:1].isupper() and shown.lower() not in _FROM_TODAY and bool(find_cycle(shown))
            alone = alone and not any(map(str.isdigit, beside))
            return (FactKind.DATE, start, end) if alone else None
        case ValueType.TIME:
            return (FactKind.TIME, start, end) if ":" in shown else None
        case ValueType.MONEY | ValueType.DURATION:
            figure = BARE.search(shown)
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
    if _BEFORE_NAME.search(before) or _BEHIND_COUNT.match(behind) or ODD.fullmatch(shown):
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
            kind = judge_number(name, cell) if BARE.fullmatch(cell) else None
            found = (kind, 0, len(cell)) if kind else judge_cell(name, cell)
            if found is not None:
                begin, end = start + first + found[1], start + first + found[2]
                yield Fact(found[0], text[begin:end], frame, begin, end, name)
