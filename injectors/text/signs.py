"""Signs: words without which a scan of a text can't find anything.

Most texts have nothing that a given scan looks for, and each scan would read the whole text to find that out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from crosswind.injectors.text.tokens import LONGEST_TOKEN, Facet, read_tokens

_LONGEST_TEXT = 16_384
_LETTERS = {at: chr(at).lower() if chr(at).isalpha() else " " for at in range(128)}
"""Of a text in ASCII: its letters in lower case, and spaces for all else."""
_kinds: list[Callable[[str], bool]] = []


class Sign:
    """Words of one kind: those for which `holds`. Words are runs of letters, in lower case."""

    __slots__ = ("_bit",)

    def __init__(self, holds: Callable[[str], bool]) -> None:
        self._bit = 1 << len(_kinds)
        _kinds.append(holds)

    def may_stand_in(self, text: str) -> bool:
        """Whether a text in ASCII, in either case, has a word of the kind. True also where it is too long to
        tell."""
        return len(text) > _LONGEST_TEXT or bool(_read_text(text) & self._bit)


@lru_cache(64)
def _read_text(text: str) -> int:
    """The bits of all kinds of which the text has a word."""
    found = 0
    for bits in set(_BITS.of(read_tokens(text))):
        found |= bits
    return found


def _read_token(token: str) -> int:
    """The bits of the kinds of which a token has a word."""
    found = 0
    for word in token.translate(_LETTERS).split():
        found |= _short_word(word) if len(word) <= LONGEST_TOKEN else _read_word(word)
    return found


def _read_word(word: str) -> int:
    return sum(1 << number for number, holds in enumerate(_kinds) if holds(word))


_short_word = lru_cache(4096)(_read_word)


_BITS = Facet(_read_token)
