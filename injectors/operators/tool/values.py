"""False values for tools' results: plausible ones, and how they are put in place of the true ones."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from crosswind.injectors.operators.words.vocabularies import LIFECYCLES, VOCABULARIES
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import ToolResultTarget
from crosswind.injectors.text.edits import apply_edits, make_edit
from crosswind.injectors.text.json_leaves import (
    MOST,
    Place,
    add_mark,
    dump_like,
    is_asked_for,
    replace_leaves,
)

_FIGURE = re.compile(r"(?<![\w#.,:/@\-\\])[0-9]{1,12}(?:\.[0-9]{1,6})?(?![\w:/@\-\\]|[.,][0-9\w])")
_YEAR = re.compile(r"1[5-9][0-9][0-9]|20[0-9][0-9]")

SpanEdit = tuple[int, int, str]
"""A span [start, end) and the string to put there."""


def is_number(value: Any) -> bool:
    """Whether the value is a number, and no truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _by_word(lists: tuple[tuple[str, ...], ...]) -> dict[str, tuple[str, ...]]:
    """The first list that has a word, by the word in lower case."""
    return {word.lower(): words for words in reversed(lists) for word in words}


_BY_WORD, _LIFE_BY_WORD = _by_word(VOCABULARIES), _by_word(LIFECYCLES)


def draw_other(value: Any, peers: Sequence[Any], rng: SeededRandom) -> Any | None:
    """Draw a false value in place of this one, or None where we have none. A text of the same shape among
    `peers`, the result's other values, will do."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        step = rng.integer(1, 3)
        return value - step if value > step and rng.chance(0.5) else value + step
    if isinstance(value, float):
        return _other_float(value, rng)
    if not isinstance(value, str):
        return None
    vocabulary = _BY_WORD.get(value.lower(), ())
    if vocabulary:
        return match_case(rng.choice([word for word in vocabulary if word.lower() != value.lower()]), value)
    alike = [peer for peer in peers if isinstance(peer, str) and peer != value and _are_codes(peer, value)]
    return rng.choice(alike) if alike else None


def find_earlier(value: Any) -> Any | None:
    """The word before this one in its lifecycle, or None."""
    vocabulary = _LIFE_BY_WORD.get(value.lower(), ()) if isinstance(value, str) else ()
    at = vocabulary.index(value.lower()) if vocabulary else 0
    return match_case(vocabulary[at - 1], value) if at else None


def find_neighbours(value: str) -> list[str]:
    vocabulary = _BY_WORD.get(value.lower(), ())
    at = [word.lower() for word in vocabulary].index(value.lower()) if vocabulary else 0
    return [
        match_case(word, value) for word in (*vocabulary[max(0, at - 1) : at], *vocabulary[at + 1 : at + 2])
    ]


def match_case(word: str, like: str) -> str:
    """Write the word in the case of another; a name keeps its own."""
    if word != word.lower():
        return word
    if like.isupper():
        return word.upper()
    return word.capitalize() if like[:1].isupper() else word


def _are_codes(one: str, two: str) -> bool:
    """Whether both are capital codes of one length, such as OSL and VIE: the only strings that can stand for
    each other, whatever they mean.
    """
    return len(one) == len(two) and one.isalpha() and two.isalpha() and one.isupper() and two.isupper()


def _other_float(value: float, rng: SeededRandom) -> float | None:
    factor = rng.uniform(0.5, 0.9) if rng.chance(0.5) else rng.uniform(1.1, 1.6)
    decimals = len(repr(value).partition(".")[2]) if "e" not in repr(value) else 6
    found = round(value * factor, decimals)
    return None if not math.isfinite(found) or found == value else found


def find_figures(target: ToolResultTarget) -> list[tuple[int, int, str]]:
    """The numbers of plain text that stand alone, with their spans: no parts of ids, dates, times or paths,
    no years, nothing that the call's arguments hold.
    """
    found = [(match.start(), match.end(), match.group()) for match in _FIGURE.finditer(target.text)]
    return [one for one in found[:MOST] if not _YEAR.fullmatch(one[2]) and not is_asked_for(one[2], target)]


def replace_spans(text: str, edits: Iterable[SpanEdit]) -> str:
    return apply_edits(text, (make_edit(start, text[start:end], now) for start, end, now in edits))


def scale(figure: str, factor: float) -> str:
    """Multiply a figure, and keep its number of decimals."""
    decimals = len(figure.partition(".")[2])
    return f"{float(figure) * factor:.{decimals}f}"


def rewrite_json(text: str, leaves: Iterable[tuple[Place, Any]], mark: str, content: Any = True) -> str:
    """Put these leaves in place of those of a JSON result, and mark the result with a field that says so."""
    value = replace_leaves(json.loads(text), leaves)
    return dump_like(add_mark(value, mark, content), like=text)
