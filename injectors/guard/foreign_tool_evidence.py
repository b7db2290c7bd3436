"""What German, Spanish and French names and descriptions say of a tool's class.

A name reads only where no word that writes stands in it; so does a description, where such a word makes it
unsure at least.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from crosswind.injectors.guard.evidence import Says
from crosswind.injectors.guard.foreign_tool_words import (
    AFTER_A_CHANGE,
    ARTICLES,
    DEEDS,
    JOINING,
    NOUN_FORMS,
    READ_FORMS,
    READ_HEADS,
    READ_VERBS,
    READING_BEHIND,
    TELLING_HEADS,
    WRITE_FORMS,
    WRITE_VERBS,
    WRITING_BEHIND,
    fold,
)

_SENTENCE = re.compile(r"[.!?](?:\s|$)|[\n;•:]")
_WORD = re.compile(r"[a-z]+")


def judge_name(words: Sequence[str]) -> Says:
    """What the words of a name say, without accents and in lower case: NOTHING where none is known."""
    if not words:
        return Says.NOTHING
    first, last = words[0], words[-1]
    if not WRITE_VERBS.isdisjoint(words) or first in WRITE_FORMS:
        return Says.WRITES
    if first in READ_VERBS or last in READ_VERBS:
        return Says.READS
    if first in NOUN_FORMS or not DEEDS.isdisjoint(words):
        return Says.PERHAPS_ACTS
    return Says.READS if first in READ_FORMS else Says.NOTHING


def judge_description(description: str) -> Says:
    """What the sentences of a description say; NOTHING where none begins or ends with a known verb."""
    found = [
        _judge_sentence(words)
        for sentence in _SENTENCE.split(fold(description.lower()))
        if (words := _WORD.findall(sentence))
    ]
    if Says.WRITES in found:
        return Says.WRITES
    if Says.UNSURE in found and found[0] in (Says.READS, Says.TELLS):
        return Says.UNSURE
    return found[0] if found and found[0] in (Says.READS, Says.TELLS) else Says.NOTHING


def _judge_sentence(words: Sequence[str]) -> Says:
    first, last, behind = words[0], words[-1], words[1:]
    if first in WRITING_BEHIND and not WRITING_BEHIND[first].isdisjoint(behind):
        return Says.WRITES
    ordered = first in NOUN_FORMS and behind[:1] and behind[0] in ARTICLES
    if ordered or first in WRITE_FORMS | WRITE_VERBS or last in WRITE_VERBS or _joins_a_write(words):
        return Says.WRITES
    if not WRITE_VERBS.isdisjoint(behind):
        return Says.UNSURE
    if first in READ_HEADS or last in READ_VERBS:
        return Says.READS
    if first in READING_BEHIND and not READING_BEHIND[first].isdisjoint(behind):
        return Says.READS if first != "gibt" else _tell(words)
    return _tell(words) if first in TELLING_HEADS else Says.NOTHING


def _joins_a_write(words: Sequence[str]) -> bool:
    """Whether `and` joins a verb that writes: `Sucht eine Buchung und storniert sie`."""
    forms = WRITE_FORMS | WRITE_VERBS | NOUN_FORMS
    return any(one in JOINING and other in forms for one, other in pairwise(words))


def _tell(words: Sequence[str]) -> Says:
    return Says.NOTHING if AFTER_A_CHANGE.search(" ".join(words)) else Says.TELLS
