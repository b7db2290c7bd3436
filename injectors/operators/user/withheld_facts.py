"""Facts of a request that can be left out so that it still reads well, and plainly lacks something.

What may be one is told by its form (an id behind a noun, a day, a time, an amount, a count), and by what the
declared tools ask for: the nouns of their ids, and places only if one of them takes a place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from crosswind.injectors.conversation import ToolSchema
from crosswind.injectors.guard.tools import find_properties
from crosswind.injectors.operators.words.requests import (
    BEFORE_COUNTS,
    CURRENCIES,
    DAYS,
    DETERMINERS,
    MONTHS,
    NAMED,
    OWNED,
    PLACES,
)
from crosswind.injectors.targets import UserTarget
from crosswind.injectors.text.edits import make_edit, touches

_EMAIL = re.compile(r"(?<=\bto )[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_DIGIT = re.compile(r"\d")
_ID_OF = re.compile(r"(?:.*_)?([a-z]{3,})(?:_|(?=[A-Z]))(?:id|ids|Id|code|ref|reference)")
_ID = re.compile(
    r"(?:\b(\w+) )?\b([A-Za-z]+) (?:number |id |ID )?(#?[A-Za-z-]*\d[\w-]*)(?![\w@:%./-]*[\w@%])"
)

_MONTH = rf"(?:{'|'.join(MONTHS)})"
_NTH = r"\d{1,2}(?:st|nd|rd|th)?"
_DAY = re.compile(
    rf"\b(on|by|before|after|until|since) (?:the )?(\d{{4}}-\d\d-\d\d|{_MONTH} {_NTH}(?:,? \d{{4}})?|"
    rf"{_NTH} (?:of )?{_MONTH}(?:,? \d{{4}})?|(?:{'|'.join(DAYS)}))(?![\w-]|, \d)",
    re.IGNORECASE,
)
_ANY_DAY = re.compile(rf"\b(?:\d{{4}}-\d\d-\d\d|{_MONTH}|{'|'.join(DAYS)})\b")
_TIME = re.compile(
    r"\b(at|by|before|after|until) "
    r"(?:\d{1,2}(?::\d\d)? ?(?:am|pm|a\.m\.|p\.m\.|o'clock)|\d{1,2}:\d\d)(?![\w:])",
    re.IGNORECASE,
)
_NUMBER = r"\d+(?:,\d{3})*(?:\.\d+)?"
_AMOUNT = re.compile(rf"(?<![\w.,])(?:[$€£]{_NUMBER}(?![\w%]|[.,]\d)|{_NUMBER} (?:{CURRENCIES})\b)")
_COUNT = re.compile(
    r"\b([A-Za-z]+) (\d{1,3}|two|three|four|five|six|seven|eight|nine|ten|twelve) "
    r"[a-z]{2,}[a-rt-z]s(?![\w'’/-])"
)
_PLACE = re.compile(
    r"\b(in|to|near|from|around) ([A-Z][a-z]+(?: [A-Z][a-z]+)*)(?:, [A-Z][A-Za-z]+)?\b(?!['’-])"
)


def find_withholdable(target: UserTarget) -> Iterator[dict[str, Any]]:
    """Edits that leave out a fact, where the message has no second one of its kind."""
    text = target.text
    plain = [text[start:end] for start, end in target.protected if text[start] not in "\"'`“”‘’«»„"]
    yield from _find_id(text, plain, target.tools)
    emails = [value for value in plain if "@" in value]
    if len(emails) == 1 and (match := _EMAIL.search(text)) and match[0] == emails[0]:
        yield make_edit(match.start(), match[0], "my usual address")
    for edit in (*_find_moments(text), *_find_quantities(text), *_find_place(text, target.tools)):
        if _is_plain(target, edit):
            yield edit


def _is_plain(target: UserTarget, edit: dict[str, Any]) -> bool:
    """Whether the fact is said in the user's own words: no part of a quotation, nor of code."""
    start, end = edit["at"], edit["at"] + len(edit["was"])
    around = [span for span in target.protected if touches([span], start, end)]
    return bool(around) and all(start <= first and last <= end for first, last in around)


def _find_id(text: str, plain: list[str], tools: Iterable[ToolSchema]) -> Iterator[dict[str, Any]]:
    ids = [value for value in plain if "@" not in value and _DIGIT.search(value)]
    nouns = {*NAMED, *_nouns_of(tools)}
    for match in _ID.finditer(text):
        before, noun, value = match.groups()
        if len(ids) != 1 or value != ids[0] or noun.lower() not in nouns:
            continue
        known = before is not None and before.lower() in DETERMINERS
        owner = "my" if noun.lower() in OWNED else "the"
        kept = noun if known or (before or "").istitle() else f"{owner} {noun}"
        yield make_edit(match.start(2), text[match.start(2) : match.end()], kept)


def _nouns_of(tools: Iterable[ToolSchema]) -> Iterator[str]:
    """What the tools' ids are ids of: `patient` where one takes a `patient_id`."""
    for tool in tools:
        for name in find_properties(tool.parameters):
            if found := _ID_OF.fullmatch(name):
                yield found[1]


def _find_moments(text: str) -> Iterator[dict[str, Any]]:
    days, times = list(_DAY.finditer(text)), list(_TIME.finditer(text))
    if len(days) == 1 and len(_ANY_DAY.findall(text)) == 1:
        yield make_edit(days[0].start(), days[0][0], f"{days[0][1]} that day")
    if len(times) == 1:
        yield make_edit(times[0].start(), times[0][0], f"{times[0][1]} that time")


def _find_quantities(text: str) -> Iterator[dict[str, Any]]:
    amounts = list(_AMOUNT.finditer(text))
    if len(amounts) == 1:
        yield make_edit(amounts[0].start(), amounts[0][0], "a certain amount")
    for match in _COUNT.finditer(text):
        if match[1].lower() in BEFORE_COUNTS:
            yield make_edit(match.start(2), match[2], "some")


def _find_place(text: str, tools: Iterable[ToolSchema]) -> Iterator[dict[str, Any]]:
    asked = {name.lower() for tool in tools for name in find_properties(tool.parameters)}
    found = list(_PLACE.finditer(text))
    if len(found) != 1 or PLACES.isdisjoint(asked) or found[0][2] in (*MONTHS, *DAYS):
        return
    lead = found[0][1]
    yield make_edit(found[0].start(), found[0][0], "there" if lead in ("in", "to") else f"{lead} there")
