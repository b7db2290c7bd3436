"""Words and phrases, written as one text."""

from __future__ import annotations


def make_words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def make_phrases(text: str) -> tuple[str, ...]:
    """The phrases between bars, in order."""
    return tuple(" ".join(phrase.split()) for phrase in text.split("|"))


def make_pairs(text: str) -> dict[str, str]:
    """By a word the one behind its colon: `buy:bought`."""
    return dict(pair.split(":") for pair in text.split())
