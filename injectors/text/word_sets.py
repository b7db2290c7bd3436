"""Sets of words, written as one text."""

from __future__ import annotations


def make_words(text: str) -> frozenset[str]:
    return frozenset(text.split())
