"""What a user wants, read from words that may be misspelt, repeated or mixed with other talk."""

from __future__ import annotations

import difflib
import math
import re
from collections import Counter
from functools import lru_cache

from crosswind.simulators.retail.kinds import KINDS

_PLACEHOLDER = re.compile(r"\{\w+\}")
_ENTITY = re.compile(r'"[^"]*"|#\w+|\S+@\S+')
_WORD = re.compile(r"[a-z]+")
_ALMOST = 0.6
"""Likeness (difflib's ratio) below which two words have nothing to do with each other."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(_ENTITY.sub(" ", _PLACEHOLDER.sub(" ", text)).lower()))


_WORDINGS = [(kind.name, _words(wording)) for kind in KINDS.values() for wording in kind.wordings]
_KINDS_WITH = Counter(
    word for kind in KINDS.values() for word in {found for w in kind.wordings for found in _words(w)}
)
_WEIGHT = {word: math.log((1 + len(KINDS)) / count) for word, count in _KINDS_WITH.items()}
"""A word that few kinds use tells much, one that all use tells nothing."""


@lru_cache(maxsize=4096)
def kind_of(text: str) -> str:
    """The kind of request whose wording is nearest to the text."""
    words = frozenset(_words(text))
    best = max(_WORDINGS, key=lambda wording: _nearness(wording[1], words))
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
