"""Which words of a message may be spoilt."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from crosswind.injectors.targets import UserTarget
from crosswind.injectors.text.entities import LONGEST_TOKEN, MEANING_WORDS, Span

SHORTEST = 4
"""Shorter words are left alone: one letter makes too much of them, and many turn into other words."""

CASELESS = "in a script without letter case names can't be told from words, and names stay"

_WORD = re.compile(rf"[^\W\d_]{{{SHORTEST},}}")


def open_words(target: UserTarget) -> Iterator[tuple[int, str]]:
    """The words that may be spoilt, with their positions."""
    spans = iter(target.protected)
    span: Span | None = next(spans, None)
    for match in _WORD.finditer(target.text):
        start, end = match.span()
        while span is not None and span[1] <= start:
            span = next(spans, None)
        if span is not None and span[0] < end:
            continue
        word = match.group()
        if not (_known(word) if len(word) <= LONGEST_TOKEN else _spoilable(word)):
            continue
        if not _binds(target.text[max(0, start - 1) : start] + target.text[end : end + 1]):
            yield start, word


def is_caseless(text: str) -> bool:
    """Whether most of the text's letters have no upper and lower case."""
    letters = [letter for letter in text if letter.isalpha()]
    return 2 * sum(letter.lower() == letter.upper() for letter in letters) > len(letters) >= SHORTEST


def _spoilable(word: str) -> bool:
    cased = all(letter.lower() != letter.upper() for letter in word)
    return cased and word.lower() not in MEANING_WORDS


_known = lru_cache(8192)(_spoilable)


@lru_cache(4096)
def _binds(around: str) -> bool:
    """Whether a combining mark, an apostrophe or a connector beside a word makes it a part of something
    longer. `around`: the characters before and after it.
    """
    return any(
        unicodedata.category(letter) in ("Mn", "Mc", "Me", "Pc", "Cf") or letter in "'’@#&"
        for letter in around
    )
