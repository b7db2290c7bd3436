"""Whether a message is whole without a value, still tells it elsewhere, or answers with it alone."""

from __future__ import annotations

import re
from typing import Any

from crosswind.injectors.operators.user.values.vague.cities import REGION
from crosswind.injectors.text.edits import apply_edits, make_edit
from crosswind.injectors.text.entities import UNSPACED
from crosswind.injectors.values.mentions import Mention
from crosswind.injectors.values.parameters import ValueType

LEAST_WORDS = 5
"""Words that a later message has beside its values, where it isn't an answer: no answer is vague."""
LEAST_LEFT = 3
"""Words of a message that still asks for something."""
WORD = re.compile(rf"[^\W{UNSPACED}]+|[{UNSPACED}]{{2}}")


def is_answer(text: str, spoken: list[Mention]) -> bool:
    """Whether the message says little beside its values."""
    rest = apply_edits(text, [make_edit(one.start, one.text, " ") for one in spoken])
    words = WORD.findall(rest)
    return len(words) < LEAST_WORDS


def is_half(text: str, one: Mention) -> bool:
    """Whether a date is told in two ways, of which this is one: `Sunday 22 February`."""
    if one.type is not ValueType.DATE:
        return False
    before = _DAY_BEFORE.search(text, max(0, one.start - _LONGEST_DAY), one.start)
    return before is not None or _DATE_BEHIND.match(text, one.end) is not None


_DAY_BEFORE = re.compile(
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|weekend|week),? (?:the )?\Z", re.IGNORECASE
)
_DATE_BEHIND = re.compile(
    r",? \(?(?:on )?(?:the )?(?:\d{1,2}(?:st|nd|rd|th)?(?![\d:.]| ?[ap]m\b)|\d{4}[./-]\d{1,2}[./-]\d{1,2}"
    r"|\d{1,2}[./-]\d{1,2}[./-](?:\d{4}|\d\d)?"
    r"|(?:jan|feb|mar|apr|may|june?|july?|aug|sep|oct|nov|dec)[a-z]*\.? \d)",
    re.IGNORECASE,
)
_LONGEST_DAY = 16


def is_derived(text: str, one: Mention) -> bool:
    """Whether another day is told from this one, or this one from another: `back a week later`."""
    return one.type is ValueType.DATE and _TOLD_FROM.search(text) is not None


_TOLD_FROM = re.compile(
    r"\b(?:(?:days?|nights?|weeks?|months?|years?) (?:after|ago|before|earlier|later|from (?:now|then|that))"
    r"|the (?:day|night|week|month|year) (?:after|before)|the (?:next|following|previous|same) day)\b",
    re.IGNORECASE,
)


def is_stripped(text: str, edit: dict[str, Any]) -> bool:
    """Whether nothing that was asked for is left."""
    return len(WORD.findall(apply_edits(text, [edit]))) < LEAST_LEFT


def is_broken(text: str, edit: dict[str, Any]) -> bool:
    """Whether what is left out leaves a loose word, or half of a list."""
    stop = edit["at"] + len(edit["was"])
    if edit["now"].strip() or edit["was"].endswith(" "):
        return False  # It qualified a noun, which stays.
    if edit["was"][-1:].isalpha() and REGION.match(text, stop) is not None:
        return True  # `in Austin, Texas` without the city
    half = _SECOND_HALF if edit["was"].startswith((" with ", " having ")) else _HALF
    return _LOOSE.search(text[: edit["at"]]) is not None or half.match(text, stop) is not None


_LOOSE = re.compile(
    r"\b(?:about|an?|and|approximately|are|around|at|between|but|by|early|exactly|from|in|is|just|late|maybe|of|on|only"
    r"|or|precisely|roughly|some ?time|than|the|to|until|was|were|with),? ?\Z"
    r"|\b(?:that|which|who)(?: (?:also|are|can|is|only|was|will|you|we|I|they|he|she|it))* [a-z]+,? ?\Z",
    re.IGNORECASE,
)
"""Words that want more, and a relative clause of which only the verb would stand: `a café that opens`."""
_HALF = re.compile(r",? (?:and|or) (?:at|between|by|for|from|in|on|to|until|with)\b")
_SECOND_HALF = re.compile(r",? (?:and|or) (?:an?|at|by|for|from|in|on|the|to|with|\d)")
