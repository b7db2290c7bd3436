"""The tokens of a text, which white space parts, and what is known of each.

Scans look at the same tokens one after the other, and each asks for something else: whether it is an entity,
what it says of the language, whether a value begins in it. Most tokens occur again and again, so each is
looked up once a text, and what was read of it is kept with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any, Generic, TypeVar

LONGEST_TOKEN = 64
"""Characters of the longest token of which anything is kept."""
_MOST_KEPT = 4_096
_LONGEST_TEXT = 16_384

T = TypeVar("T")


_TEXT = -1


class _Token(dict[int, Any]):
    """What was read of a token, by the number of the facet, and its text."""

    __slots__ = ()

    def __missing__(self, number: int) -> Any:
        found = self[number] = _readers[number](self[_TEXT])
        return found


_readers: list[Callable[[str], Any]] = []


class _TokenCache(dict[str, _Token]):
    """The tokens that occurred lately."""

    __slots__ = ("before",)

    def __init__(self) -> None:
        super().__init__()
        self.before: dict[str, _Token] = {}
        """Those that were kept before these: each that occurs again is kept on."""

    def __missing__(self, token: str) -> _Token:
        found = self.before.get(token) or _Token({_TEXT: token})
        if len(token) <= LONGEST_TOKEN:
            if len(self) >= _MOST_KEPT:
                self.before = self.copy()
                self.clear()
            self[token] = found
        return found


_cache = _TokenCache()


class Tokens:
    """The tokens of a text, in order."""

    __slots__ = ("_known", "_starts", "_text", "texts")

    def __init__(self, text: str) -> None:
        self.texts = text.split()
        self._text, self._known = text, _look_up(self.texts)
        self._starts: list[int] | None = None

    @property
    def starts(self) -> list[int]:
        """Where each begins."""
        if self._starts is None:
            self._starts = _find_starts(self._text, self.texts)
        return self._starts


def _find_starts(text: str, tokens: list[str]) -> list[int]:
    starts, at = [], 0
    for token in tokens:
        starts.append(at)
        at += len(token) + 1
    if at == len(text) + 1:
        return starts  # One space, most often, behind each but the last.
    starts, at = [], 0
    for token in tokens:
        starts.append(text.find(token, at))
        at = starts[-1] + len(token)
    return starts


class TokenProperty(Generic[T]):
    """Something that follows from a token alone, wherever it stands."""

    __slots__ = ("_get",)

    def __init__(self, read: Callable[[str], T]) -> None:
        self._get = itemgetter(len(_readers))
        _readers.append(read)

    def of(self, tokens: Tokens) -> list[T]:
        return list(map(self._get, tokens._known))

    def of_each(self, tokens: Sequence[str]) -> list[T]:
        return list(map(self._get, _look_up(tokens)))


def read_tokens(text: str) -> Tokens:
    """The tokens of a text: the same ones as long as few other texts are read."""
    return _short_tokens(text) if len(text) <= _LONGEST_TEXT else Tokens(text)


_short_tokens = lru_cache(64)(Tokens)


def _look_up(tokens: Sequence[str]) -> list[_Token]:
    return list(map(_cache.__getitem__, tokens))


_LETTERS = {at: chr(at).lower() if chr(at).isalpha() else " " for at in range(128)}
"""Of a text in ASCII: its letters in lower case, and spaces for all else."""
_kinds: list[Callable[[str], bool]] = []


class WordKind:
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


_BITS = TokenProperty(_read_token)
