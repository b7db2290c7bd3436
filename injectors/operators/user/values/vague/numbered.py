"""Ids behind the noun that they number in an English message: `order 4471`, `flight LH 452`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crosswind.injectors.conversation import ToolList
from crosswind.injectors.operators.user.values.vague.place import Place, find_word_before
from crosswind.injectors.operators.user.values.vague.things import find_id
from crosswind.injectors.values.mentions import Mention
from crosswind.injectors.values.parameters import ValueType, list_parameters

_NUMBERED = re.compile(
    r"\b(?P<noun>account|appointment|booking|case|claim|flight|invoice|order|parcel|package|reservation|ticket)"
    r" (?:(?:number|id|no\.?) )?(?P<id>#?\d{3,12}|[A-Z]{2} ?\d{2,4}|[A-Z]{2,4}-?\d{3,10})(?![\w.:/-]*\w)",
    re.IGNORECASE,
)
_ID_WORDS = frozenset("code id no number reference".split())


def find_numbered(text: str, tools: ToolList) -> Iterator[tuple[Mention, Place]]:
    """The only such id of a message, with its place, where a tool takes one for the noun."""
    found = list(_NUMBERED.finditer(text))
    if len(found) != 1 or not any(char.isdigit() for char in found[0]["id"]):
        return
    noun, (start, end) = found[0]["noun"].lower(), found[0].span("id")
    if not any(noun in one.words and _ID_WORDS.intersection(one.words) for one in list_parameters(tools)):
        return
    one = Mention(start, end, text[start:end], ValueType.ID, f"{noun} number")
    if (place := find_id(text, one, start, end, find_word_before(text, start))) is not None:
        yield one, place
