"""A text in pieces that can be looked at one by one.

Operators and the guard ask for the same things of a text again and again, each time after an operator has
changed a little of it. What is found in a piece is remembered: only pieces that changed are looked at again.
"""

from __future__ import annotations

import re
from functools import lru_cache

LONGEST_PIECE = 512
"""Characters of the longest piece of which anything is remembered."""
REMEMBERED = 4096
"""Pieces of which something is remembered."""

_LONGEST_TEXT = 16_384

_END = re.compile(r"[.!?:]\s")


def cut(text: str) -> tuple[str, ...]:
    """The text without the white space at which it is cut: one character behind each end of a sentence."""
    return _short_cut(text) if len(text) <= _LONGEST_TEXT else _cut(text)


def _cut(text: str) -> tuple[str, ...]:
    pieces: list[str] = []
    begin = 0
    for match in _END.finditer(text):
        end = match.end() - 1
        pieces.append(text[begin:end])
        begin = end + 1
    pieces.append(text[begin:])
    return tuple(pieces)


_short_cut = lru_cache(64)(_cut)
