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


def shorten(text: str, share: float) -> str:
    """The beginning of a text: at most this share of its letters."""
    return text[: whole(text, int(len(text) * share))]


def _goes_on(text: str, at: int) -> bool:
    """Whether the code point at a place belongs to the same character as the one before it."""
    before, after = text[at - 1], text[at]
    if after < "\u0300":
        return False
    if unicodedata.category(after) in ("Mn", "Me", "Mc") or after in _CLINGING:
        return True
    if unicodedata.category(after) == "Lo" and _conjoins(text, at - 1):
        return True
    if before == _JOINER or "\U0001f3fb" <= after <= "\U0001f3ff" or _tag(after):
        return True
    if _flag(after) and _flag(before):
        start = at
        while start > 0 and _flag(text[start - 1]):
            start -= 1
        return (at - start) % 2 == 1
    return _jamo(before, after)


def _conjoins(text: str, at: int) -> bool:
    """Whether a virama stands among the marks that end at a place: it binds the consonant behind them."""
    while at >= 0 and (text[at] in _CLINGING or _tag(text[at]) or unicodedata.category(text[at])[0] == "M"):
        if unicodedata.combining(text[at]) == _VIRAMA:
            return True
        at -= 1
    return False


def _tag(letter: str) -> bool:
    """Whether it is one of the letters of a flag's region."""
    return "\U000e0020" <= letter <= "\U000e007f"


def _flag(letter: str) -> bool:
    """Whether it is a regional indicator, of which two make a flag."""
    return "\U0001f1e6" <= letter <= "\U0001f1ff"


def _jamo(before: str, after: str) -> bool:
    """Whether a letter of Hangul goes on with a syllable: behind a leading consonant another one, a vowel
    or a whole syllable, then vowels, then final consonants."""
    if "\u1100" <= before <= "\u115f" or "\ua960" <= before <= "\ua97c":
        leading = "\u1100" <= after <= "\u115f" or "\ua960" <= after <= "\ua97c"
        return leading or _vowel(after) or _syllable(after)
    if _vowel(before) or (_syllable(before) and (ord(before) - 0xAC00) % 28 == 0):
        return _vowel(after) or _final(after)
    return (_final(before) or _syllable(before)) and _final(after)


def _vowel(letter: str) -> bool:
    return "\u1160" <= letter <= "\u11a7" or "\ud7b0" <= letter <= "\ud7c6"


def _final(letter: str) -> bool:
    return "\u11a8" <= letter <= "\u11ff" or "\ud7cb" <= letter <= "\ud7fb"


def _syllable(letter: str) -> bool:
    return "\uac00" <= letter <= "\ud7a3"
