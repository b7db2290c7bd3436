"""What a user wants, read from words that may be misspelt, repeated or mixed with other talk."""

from __future__ import annotations

import difflib
import math
import re
from collections import Counter
from functools import lru_cache

from crosswind.simulators.retail.kinds import KINDS

_SENTENCE_END = re.compile(r"(?<=[.?!])(?<!\.\.)\s+|\n+")
_WORD = re.compile(r'"[^"]*"|#[WP](?=\d)|\S+@\S+|[a-z]+')
_ALMOST = 0.6
"""Likeness (difflib's ratio) below which two words have nothing to do with each other."""
_POLITE = frozenset({"chance"})
"""Words of polite requests ("any chance you can ...") that would pass for a misspelt word of a wording."""
_EXAMPLES = {
    "order": "#W1", "product": "#P1", "email": "a@b.c", "old": "a@b.c", "new": "a@b.c", "name": "lamp",
    "address": "1 Elm Street",
}  # fmt: skip


def _words(text: str) -> tuple[str, ...]:
    """The words of a text, and a mark for each id, email or quotation."""
    small = re.sub(r"[A-Z](?!\d)", lambda letter: letter[0].lower(), text)
    return tuple(_mark(word) for word in _WORD.findall(small))


def _mark(word: str) -> str:
    return "@" if "@" in word else '"' if word.startswith('"') else word


_WORDINGS = [
    (kind.name, _words(wording.format(**_EXAMPLES))) for kind in KINDS.values() for wording in kind.wordings
]
_KINDS_WITH = Counter(
    word for name in KINDS for word in {found for kind, words in _WORDINGS if kind == name for found in words}
)
_WEIGHT = {word: math.log((1 + len(KINDS)) / count) for word, count in _KINDS_WITH.items()}
"""A word that few kinds use tells much, one that all use tells nothing."""


@lru_cache(maxsize=4096)
def kind_of(text: str) -> str:
    """The kind of request whose wording is nearest to a sentence of the text: others may be about other
    things."""
    said = [frozenset(_words(sentence)) - _POLITE for sentence in _SENTENCE_END.split(text)]
    best = max(_WORDINGS, key=lambda wording: max(_nearness(wording[1], words) for words in said))
    return best[0]


def _nearness(wording: tuple[str, ...], words: frozenset[str]) -> float:
    total = sum(_WEIGHT[word] for word in wording)
    found = sum(_WEIGHT[word] * _likeness(word, words) for word in wording)
    return found / total + 0.01 * len(wording) * (found == total)


def _likeness(word: str, words: frozenset[str]) -> float:
    if word in words:
        return 1.0
    ratio = max((_ratio(word, other) for other in words), default=0.0)
    return ratio if ratio >= _ALMOST else 0.0


@lru_cache(maxsize=65536)
def _ratio(word: str, other: str) -> float:
    return difflib.SequenceMatcher(None, word, other, autojunk=False).ratio()
