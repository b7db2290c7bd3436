"""The facts of a tool's result, and where each stands in its text: of JSON, of texts within it, and of plain
text. What the call's own arguments hold is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from crosswind.injectors.operators.insertion import is_plain_text
from crosswind.injectors.operators.tool.facts import (
    Fact,
    FactKind,
    judge_cell,
    judge_flag,
    judge_number,
    split_field,
)
from crosswind.injectors.operators.tool.text_facts import find_in_text
from crosswind.injectors.targets import ToolResultTarget
from crosswind.injectors.text.json_leaves import DEEPEST, MOST, follow, is_asked_for
from crosswind.injectors.text.json_payload import is_container, parse_json
from crosswind.injectors.text.json_spans import Frame, Leaf, find_leaves, open_string
from crosswind.injectors.values.forms import LONGEST

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
        found = find_in_text(frame)
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
            kind = judge_flag(field) if isinstance(leaf.value, bool) else judge_number(field, token)
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
        yield from find_in_text(inner)
    elif (found := judge_cell(field, text)) is not None:
        kind, start, end = found
        yield Fact(kind, text[start:end], inner, start, end, field, leaf.place)


_DIGITS = re.compile(r"\d{4,6}|\+?\d[\d -]{6,16}\d")
_DIALLED = frozenset((word,) for word in ("zip", "zipcode", "postcode", "phone", "telephone", "mobile"))
MOST_WORDS = 3
"""More words than these are prose."""
SHORT = 16
"""Characters of a text in a script without spaces that may be a single word."""
