"""Signs: words without which a scan of a text can't find anything.

Most texts have nothing that a given scan looks for, and each scan would read the whole text to find that out.
Here each word is read once, for all of them, and what was read of it is remembered.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

LONGEST_WORD = 64
"""Characters of the longest word that is remembered."""
_LONGEST_TEXT = 16_384
_LETTERS = {at: chr(at).lower() if chr(at).isalpha() else " " for at in range(128)}
"""Of a text in ASCII: its letters in lower case, and spaces for all else."""
_kinds: list[Callable[[str], bool]] = []
_known: dict[str, int] = {}
"""The bits of words."""
_MOST_KNOWN = 8_192


class Sign:
    """Words of one kind: those for which `holds`. Words are runs of letters, in lower case."""

    __slots__ = ("_bit",)

    def __init__(self, holds: Callable[[str], bool]) -> None:
        self._bit = 1 << len(_kinds)
        _kinds.append(holds)
        _known.clear()
        _read_text.cache_clear()

    def may_stand_in(self, text: str) -> bool:
        """Whether a text in ASCII, in either case, has a word of the kind. True also where it is too long to
        tell."""
        return len(text) > _LONGEST_TEXT or bool(_read_text(text) & self._bit)


@lru_cache(64)
def _read_text(text: str) -> int:
    """The bits of all kinds of which the text has a word."""
    words, found = text.translate(_LETTERS).split(), 0
    known = set(map(_known.get, words))
    for bits in known if None not in known else set(map(_read_word, words)):
        found |= bits or 0
    return found


def _read_word(word: str) -> int:
    """The bits of the kinds that the word is of."""
    bits = _known.get(word)
    if bits is None:
        bits = sum(1 << number for number, holds in enumerate(_kinds) if holds(word))
        if len(word) <= LONGEST_WORD:
            if len(_known) >= _MOST_KNOWN:
                _known.clear()
            _known[word] = bits
    return bits
