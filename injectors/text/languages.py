"""Tell the language of a text: by its script, or by its small words.

A rule that knows no words of a text's language can do nothing in it. It then draws `unable` with the reason.
A model may still write the text for it; without a model the event is withheld, and its note gives the reason.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Any

import msgspec

from crosswind.injectors.text.language_words import LETTERS, WEIGHTS
from crosswind.injectors.text.tokens import TokenProperty, read_tokens


class Language(StrEnum):
    """The languages that there are phrase packs for."""

    EN = "en"
    DE = "de"
    ES = "es"
    FR = "fr"
    ZH = "zh"
    JA = "ja"
    AR = "ar"


UNSPACED = frozenset((Language.ZH, Language.JA))
"""Languages that are written without spaces."""

UNABLE = "unable"
"""The member of a draw that says why the rule can't carry it out."""

ENGLISH_ONLY = "the rule knows English words only, and this text is in another language"

LONGEST = 2_000
"""Characters that are examined: a language shows early."""

LEAST = 2
"""The fewest words with letters of other languages that make a text foreign: names have such letters, too."""

ENOUGH = 0.7
"""What words must say for a language: one that three languages have says too little."""

_EDGES = ".,;:!?()[]{}<>\"'“”‘’«»„…-¿¡"
_QUOTES = re.compile("[\"'“„«](?<!\\w[\"'“„«])")
"""A mark that no letter stands before: an apostrophe opens no quotation."""
_QUOTED = re.compile(
    r"(?<!\w)(?:\"[^\"\n]{1,200}\"|'[^'\n]{1,200}'(?!\w)|[“„][^”“\n]{1,200}[”“]|«[^»\n]{1,200}»)"
)
_FOREIGN = "foreign"
"""A language that has no pack, whichever it is."""


def mark_unable(text: str, draw: Mapping[str, Any]) -> dict[str, Any] | None:
    """The draw of a rule that found nothing to change, with the reason, if the text is foreign; else None."""
    return {**draw, UNABLE: ENGLISH_ONLY} if is_foreign(text) else None


def is_foreign(text: str) -> bool:
    """Whether the text is clearly in another language than English."""
    return _tell(_normalise(text)) not in (None, Language.EN)


def detect_language(text: str) -> Language | None:
    """The language of the text; None where it is none of them, or isn't to be told. A text of few words of
    which none tells is taken for English where its letters are plain.
    """
    found = _tell(_normalise(text))
    return found if isinstance(found, Language) else None


def _normalise(text: str) -> str:
    return text[:LONGEST] if text.isascii() else unicodedata.normalize("NFC", text[:LONGEST])


@lru_cache(1024)
def _tell(text: str) -> Language | str | None:
    """The language, or `_FOREIGN`; None: it isn't to be told."""
    if not text.isascii():
        letters = [letter for letter in text if letter.isalpha()]
        if (script := _find_script(text, letters)) is not None:
            return script
        if 2 * sum(not _is_latin(letter) for letter in letters) > len(letters):
            return _FOREIGN if len(letters) > LEAST else None
    words, english, most = _weigh(text)
    if most > max(ENOUGH, english) - _CLOSE and (found := _find_leader(words, english)) is not None:
        return found
    if not text.isascii():
        strange = sum(not word.text.isascii() and word.text.islower() for word in words)
        if strange >= LEAST and strange > english:
            return _FOREIGN
        if most > english:
            return None
    plain = 0 if english or not text.isascii() else len(_select_words(text, _WORD))
    return Language.EN if english or 0 < plain <= _SILENT else None


def _find_leader(words: list[_Word], english: float) -> Language | str | None:
    """The language for which the words say most, where that is more than for English, and enough."""
    scores: dict[str, float] = {}
    for word in words:
        for language, weight in word.others:
            scores[language] = scores.get(language, 0.0) + weight
    best = max(scores.values(), default=0.0)
    if best < ENOUGH or best <= english:
        return None
    leaders = [language for language, score in scores.items() if score > best - _CLOSE]
    return _PACKED.get(leaders[0], _FOREIGN) if len(leaders) == 1 else _FOREIGN


_SILENT = 2
"""The most words of a text that may be English without any English one of the lists: hardly any longer one
is."""
_PACKED = {one.value: one for one in Language}
_CLOSE = 1e-9


class _Word(msgspec.Struct, frozen=True, gc=False):
    text: str
    lower: bool
    """Whether it begins with a small letter: a name's words don't."""
    english: float
    """What it says for English."""
    foreign: float
    """The most that it says for another language."""
    others: tuple[tuple[str, float], ...]
    """What it says for each of these."""


def _weigh(text: str) -> tuple[list[_Word], float, float]:
    """The words that tell a language, and what they say for English, and at most for others."""
    found = _select_words(text, _TELLING)
    english = most = 0.0
    for word in found:
        english += word.english
        most += word.foreign
    return found, english, most


def _select_words(text: str, kind: TokenProperty[_Word | None]) -> list[_Word]:
    """The words of a kind: a name's words within a sentence are left out, and what is quoted."""
    tokens = read_tokens(text)
    texts, words = tokens.texts, kind.of(tokens)
    if _QUOTES.search(text) and len(unquoted := _QUOTED.sub(" ", text).split()) >= LEAST:
        texts, words = unquoted, kind.of_each(unquoted)
    return [
        word
        for word, before in zip(words, (".", *texts), strict=False)
        if word is not None and (word.lower or before[-1] in _ENDS)
    ]


_ENDS = ".?!:…"


def _read_word(token: str) -> _Word | None:
    """The word of a token; None where it is in capitals, or has other characters than letters, as ids, paths
    and addresses do."""
    bare = token.strip(_EDGES).replace("’", "'")
    shouted = bare.isupper() and len(bare) > 1
    if shouted or not bare.replace("'", "").replace("-", "").isalpha():
        return None
    lower = bare.lower()
    evidence = WEIGHTS.get(lower, ())
    if not lower.isascii():
        evidence += tuple(
            (one, 1.0) for one, letters in LETTERS.items() if not set(letters).isdisjoint(lower)
        )
    english = sum(weight for one, weight in evidence if one == Language.EN)
    others = tuple(found for found in evidence if found[0] != Language.EN)
    # The word itself and its letters may say the same.
    foreign = max((sum(more for one, more in others if one == language) for language, _ in others), default=0)
    return _Word(bare, bare[0].islower(), english, foreign, others)


def _read_telling(token: str) -> _Word | None:
    """The word of a token that says something of a language, be it by its letters only."""
    word = _read_word(token)
    telling = word is not None and (word.english or word.foreign or not word.text.isascii())
    return word if telling else None


_WORD, _TELLING = TokenProperty(_read_word), TokenProperty(_read_telling)


def _find_script(text: str, letters: list[str]) -> Language | None:
    """The language of a text whose script tells it. Chinese characters beside kana are Japanese."""
    kana = sum("\u3040" <= letter <= "\u30ff" for letter in letters)
    han = sum("\u3400" <= letter <= "\u9fff" for letter in letters)
    arabic = sum("\u0600" <= letter <= "\u06ff" for letter in letters)
    # An ideograph says as much as a word: beside Latin words a few are enough.
    latin = sum(any(map(_is_latin, filter(str.isalpha, token))) for token in text.split())
    if kana + han > 0 and kana + han >= latin:
        return Language.JA if 8 * kana >= kana + han else Language.ZH
    return Language.AR if 2 * arabic > len(letters) else None


def _is_latin(letter: str) -> bool:
    return letter < "\u0250" or "\u1e00" <= letter <= "\u1eff"
