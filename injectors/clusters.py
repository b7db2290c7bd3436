"""Where a text may be cut so that no character, as readers see it, is torn.

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


def whole(text: str, at: int) -> int:
    """The nearest place at or before `at` where no character begins before and ends after."""
    while 0 < at < len(text) and _goes_on(text, at):
        at -= 1
    return at


def _goes_on(text: str, at: int) -> bool:
    """Whether the code point at a place belongs to the same character as the one before it."""
    before, after = text[at - 1], text[at]
    if after < "\u0300":
        return False
    if unicodedata.category(after) in ("Mn", "Me", "Mc") or after in _CLINGING:
        return True
    if unicodedata.combining(before) == _VIRAMA and unicodedata.category(after) == "Lo":
        return True
    if before == _JOINER or "\U0001f3fb" <= after <= "\U0001f3ff" or "\U000e0020" <= after <= "\U000e007f":
        return True
    if _flag(after) and _flag(before):
        start = at
        while start > 0 and _flag(text[start - 1]):
            start -= 1
        return (at - start) % 2 == 1
    return _jamo(before, after)


def _flag(letter: str) -> bool:
    """Whether it is a regional indicator, of which two make a flag."""
    return "\U0001f1e6" <= letter <= "\U0001f1ff"


def _jamo(before: str, after: str) -> bool:
    """Whether a vowel or a final consonant of Hangul goes on with a syllable."""
    if "\u1160" <= after <= "\u11a7":
        return "\u1100" <= before <= "\u11a7" or _open_syllable(before)
    return "\u11a8" <= after <= "\u11ff" and (
        "\u1160" <= before <= "\u11ff" or "\uac00" <= before <= "\ud7a3"
    )


def _open_syllable(letter: str) -> bool:
    """Whether a precomposed syllable has no final consonant."""
    return "\uac00" <= letter <= "\ud7a3" and (ord(letter) - 0xAC00) % 28 == 0
