"""Find the places where a text may be cut without tearing a character, as readers see it.

What belongs to one character follows the rules of Unicode's annex 29 for extended grapheme clusters, as far
as general categories tell: marks, joiners and what they join, conjuncts, modifiers and flags, Hangul's jamo.
"""

from __future__ import annotations

import unicodedata

_JOINER = "\u200d"
_CLINGING = (_JOINER, "\u200c", "\u0e33", "\u0eb3")
"""What goes on with a character though its category is no mark's: joiners, and am in Thai and Lao."""
_VIRAMA = 9
"""The combining class of the marks that make a conjunct of two consonants."""
_FLAG = (("\U0001f1e6", "\U0001f1ff"),)
"""Regional indicators, of which two make a flag."""
_TAG = (("\U000e0020", "\U000e007f"),)
"""The letters of a flag's region."""
_LEADING = (("\u1100", "\u115f"), ("\ua960", "\ua97c"))
_VOWEL = (("\u1160", "\u11a7"), ("\ud7b0", "\ud7c6"))
_FINAL = (("\u11a8", "\u11ff"), ("\ud7cb", "\ud7fb"))
_SYLLABLE = (("\uac00", "\ud7a3"),)
"""Hangul: leading consonants, vowels, final consonants, and whole syllables."""

_Ranges = tuple[tuple[str, str], ...]


def find_boundary(text: str, at: int) -> int:
    """The nearest place at or before `at` where no character begins before and ends after."""
    while 0 < at < len(text) and _goes_on(text, at):
        at -= 1
    return at


def shorten(text: str, share: float) -> str:
    """The beginning of a text: at most this share of its letters."""
    return text[: find_boundary(text, int(len(text) * share))]


def _goes_on(text: str, at: int) -> bool:
    """Whether the code point at a place belongs to the same character as the one before it."""
    before, after = text[at - 1], text[at]
    if after < "\u0300":
        return False
    category = unicodedata.category(after)
    if category in ("Mn", "Me", "Mc") or after in _CLINGING or (category == "Lo" and _conjoins(text, at - 1)):
        return True
    if before == _JOINER or "\U0001f3fb" <= after <= "\U0001f3ff" or _in(after, _TAG):
        return True
    if _in(after, _FLAG) and _in(before, _FLAG):
        start = at
        while start > 0 and _in(text[start - 1], _FLAG):
            start -= 1
        return (at - start) % 2 == 1
    return _is_syllable_of(before, after)


def _conjoins(text: str, at: int) -> bool:
    """Whether a virama stands among the marks that end at a place: it binds the consonant behind them."""
    while at >= 0 and (
        text[at] in _CLINGING or _in(text[at], _TAG) or unicodedata.category(text[at])[0] == "M"
    ):
        if unicodedata.combining(text[at]) == _VIRAMA:
            return True
        at -= 1
    return False


def _is_syllable_of(before: str, after: str) -> bool:
    """Whether two letters of Hangul stand in one syllable: behind a leading consonant another one, a vowel
    or a whole syllable, then vowels, then final consonants."""
    if _in(before, _LEADING):
        return _in(after, _LEADING + _VOWEL + _SYLLABLE)
    open_syllable = _in(before, _SYLLABLE) and (ord(before) - 0xAC00) % 28 == 0
    if _in(before, _VOWEL) or open_syllable:
        return _in(after, _VOWEL + _FINAL)
    return _in(before, _FINAL + _SYLLABLE) and _in(after, _FINAL)


def _in(letter: str, ranges: _Ranges) -> bool:
    return any(first <= letter <= last for first, last in ranges)
