"""The mark that ends a message and the capital that begins it, as they are missed or struck twice.

Neither is touched where what a call needs as it is may begin or end there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from crosswind.injectors.conversation import ToolList
from crosswind.injectors.operators.user.typos.named_words import read_named_words
from crosswind.injectors.operators.user.typos.plain_words import asks_alone
from crosswind.injectors.operators.user.typos.word_lists import read_words
from crosswind.injectors.operators.user.values.sure_values import PASSED_ON
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.text.edits import make_edit, touches
from crosswind.injectors.text.entities import Span
from crosswind.injectors.text.languages import UNSPACED, Language
from crosswind.injectors.text.quotations import find_open_end

MARKED, SMALL = 0.3, 0.15
"""How often the mark or the capital is missed beside a mistyped word."""

_WRITTEN = {"lost": 0.7, "twice": 0.2, "apart": 0.1}
_MARK = re.compile(r"(?<=[^\W\d_]{2})[.?!。？！؟]")
_ABBREVIATED = re.compile(r"(?:(?:\A|\s)[A-ZÄÖÜÉ]\S*|\b(?:etc|inc|approx|usw|ca|vol|ltd))\.\s*\Z")
"""A stop that may belong to the word before it, in which is no space, as it may to a name: `Apple Inc.`"""
_ASKING = re.compile("(?:ください|下さい|ます|です|ますか|ですか|ません?か|吗|吧|谢谢|一下)[。？！?!]\\s*\\Z")
"""How a Chinese or Japanese request ends that no text ends with."""


def draw_mark(
    text: str, language: Language | None, tools: ToolList, protected: Sequence[Span], rng: SeededRandom
) -> dict[str, Any] | None:
    """Another mark at the end of the message, or none; None where it has to stay."""
    kind = rng.weighted(tuple(_WRITTEN), tuple(_WRITTEN.values()))
    at = len(text.rstrip()) - 1
    if not _MARK.match(text, at) or touches(protected, at, at + 1) or find_open_end(text):
        return None
    abbreviated = _ABBREVIATED.search(text, text.rfind(" ", 0, at))
    if abbreviated or (tools and not _ends_freely(text, language, tools)):
        return None
    mark = text[at]
    apart = f" {mark}" if mark in "?!" else ""
    now = {"lost": "", "twice": mark * 2, "apart": apart}[kind]
    return make_edit(at, mark, now) | {"kind": "mark"}


def _ends_freely(text: str, language: Language | None, tools: ToolList) -> bool:
    """Whether the message ends with a request, and not with what a call needs as it is."""
    named = read_named_words(tools)
    if named.takes_message:
        return False
    if not named.takes_text:
        return True
    if language is not Language.EN and PASSED_ON.search(text):
        return False
    if language in UNSPACED:
        return _ASKING.search(text) is not None and not any(one in text for one in ':：「“"')
    return asks_alone(text, named)


def draw_small(
    text: str, language: Language | None, protected: Sequence[Span], rng: SeededRandom
) -> dict[str, Any] | None:
    """The message's first word without its capital, where it is a word that puts requests."""
    drawn = rng.chance(SMALL)
    word = text.split(None, 1)[0] if text.strip() else ""
    at = text.find(word)
    if not drawn or language is None or not word.isalpha() or len(word) < 2 or not word[0].isupper():
        return None
    if word[1:] != word[1:].lower() or touches(protected, at, at + len(word)):
        return None
    if word.lower() not in _read_openers(language):
        return None
    return make_edit(at, word, word.lower()) | {"kind": "capital"}


@lru_cache(8)
def _read_openers(language: Language) -> frozenset[str]:
    if language not in (Language.EN, Language.DE, Language.ES, Language.FR):
        return frozenset()
    listed = read_words(f"plain.{language}") | read_words(f"connectives.{language}")
    return listed if language is Language.EN else listed | read_words(f"commands.{language}")
