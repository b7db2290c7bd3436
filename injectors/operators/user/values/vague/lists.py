"""Lists of numbers in an English sentence, which the user can leave open as a whole."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crosswind.injectors.operators.user.values.small_words import GO_ON
from crosswind.injectors.operators.user.values.vague.place import (
    Place,
    ends_clause,
    find_next_word,
    withhold,
)
from crosswind.injectors.values.mentions import Mention
from crosswind.injectors.values.parameters import ValueType

_NUMBER = r"-?\d+(?:\.\d+)?"
_LIST = re.compile(
    r"the (?:following )?"
    r"(?P<noun>numbers|values|scores|grades|integers|data points|temperatures|prices|samples|data)"
    rf"(?:(?: are)?:)? [\[(]?{_NUMBER}(?:, ?{_NUMBER})+(?:,? and {_NUMBER})?[\])]?(?![\w.]\d| and \[)"
)
_LETTERS = re.compile(
    rf"(?:,? (?:where|with|for|when|given|if))(?: coefficients| values)? [a-z] ?= ?{_NUMBER}"
    rf"(?:(?:, (?:and )?| and )[a-z] ?= ?{_NUMBER})+(?![\w.]\d)"
)
_POINT = re.compile(rf",? (?:at|when|where|for|with) [a-z] ?= ?{_NUMBER}(?![\w.]\d)")
_ROOTS = re.compile(
    rf" (?:with|having|given) (?:the )?(?P<noun>coefficients|values|numbers|sides|points)(?: of)? "
    rf"{_NUMBER}(?:, ?{_NUMBER})*(?:,? and {_NUMBER})(?![\w.]\d)"
)
_LATITUDE, _LONGITUDE = r"-?\d+\.\d+(?: ?°? ?[NS])?", r"-?\d+\.\d+(?: ?°? ?[EW])?"
_IS = r"(?: of|:|=)? ?"
_SPOT = re.compile(
    r"\b(?P<prep>at|for|near|of|in|around) (?:the )?(?:(?:coordinates|location|position)(?: at| of|:)? ?)?\(?"
    rf"(?:lat(?:itude)?{_IS}{_LATITUDE}(?:,? and|,)? ?lon(?:g(?:itude)?)?{_IS}{_LONGITUDE}"
    rf"|{_LATITUDE}(?:,| and) ?{_LONGITUDE})\)?(?![\w.]\d)"
)
"""Where a place lies, in degrees."""
_HANDFUL = ("a few {}", "some {}", "a handful of {}")


def find_lists(text: str) -> Iterator[tuple[Mention, Place]]:
    """The lists of numbers, each with its place: `the mean of the numbers 4, 8 and 15`."""
    for match in _LIST.finditer(text):
        start, end = match.span()
        forms = tuple(form.format(match["noun"]) for form in _HANDFUL)
        yield _mention(text, start, end), withhold(start, end, forms, match["noun"])
    for match in _SPOT.finditer(text):
        start, end = match.span()
        if ends_clause(text, end) or find_next_word(text, end) in GO_ON:
            forms = (f"{match['prep']} this place", f"{match['prep']} that spot")
            first = start + len(match["prep"]) + 1
            yield _mention(text, first, end), withhold(start, end, forms, "location", value=(first, end))
    for match in _ROOTS.finditer(text):
        if ends_clause(text, match.end()):
            first = match.start("noun")
            place = Place(match.start(), match.end(), dropped="", called=match["noun"])
            yield _mention(text, first, match.end()), place
    points = [one for one in _POINT.finditer(text) if not _LETTERS.match(text, one.start())]
    for match in points if len(points) == 1 else ():
        if ends_clause(text, match.end()):
            first = match.end() - len(match[0].split(" ", 2)[2]) if match[0].count(" ") > 1 else match.start()
            place = Place(match.start(), match.end(), dropped="", called="value")
            yield _mention(text, first, match.end()), place
    for match in _LETTERS.finditer(text):
        start, end = match.span()
        if start and ends_clause(text, end):
            first = start + len(match[0]) - len(match[0].lstrip(", "))
            yield _mention(text, first, end), Place(start, end, dropped="", called="values")


def _mention(text: str, start: int, end: int) -> Mention:
    return Mention(start, end, text[start:end], ValueType.NUMBER, None)
