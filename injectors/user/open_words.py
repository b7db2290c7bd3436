"""Which words of a message may be spoilt."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from injectors.entities import MEANING_WORDS, Span
from injectors.operator import UserTarget

SHORTEST = 4
"""Shorter words are left alone: one letter makes too much of them, and many turn into other words."""

_WORD = re.compile(r"[^\W\d_]+")


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
        if len(word) >= SHORTEST and _spoilable(word) and not _joined_to_marks(target.text, start, end):
            yield start, word


def _spoilable(word: str) -> bool:
    cased = all(letter.lower() != letter.upper() for letter in word)
    return cased and word.lower() not in MEANING_WORDS


def _joined_to_marks(text: str, start: int, end: int) -> bool:
    """Whether a combining mark, an apostrophe or a connector makes the word a part of something longer."""
    around = text[max(0, start - 1) : start] + text[end : end + 1]
    return any(
        unicodedata.category(letter) in ("Mn", "Mc", "Me", "Pc", "Cf") or letter in "'’@#&"
        for letter in around
    )
