"""Find what noise left of a secret: repeated, cut, broken over lines, re-spelled, with typing errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from crosswind.gateway.recorder.secret_rules import Span
from crosswind.gateway.recorder.secret_rules.reading import Readable

_PIECE = 6
"""How many letters and digits in a row, whatever their case and what stands between them, show a secret."""
_STRIDE = 3
_SHORTEST = 8
_LONG = 20
"""Shorter secrets are known by their pieces with letters and digits only: passwords have words and years in
them, which other texts have, too.
"""
_MOST_SECRETS = 64
"""How many secrets of a session are remembered."""
_MOST_BYTES = 8_192
"""How many bytes of one secret are remembered; only private keys are longer, and they end in this."""
_GAP = 5
"""How many letters and digits between two pieces noise may have changed."""

_NONE: set[bytes] = set()
"""Stands for the sets of the many sessions that show no secret."""

_OTHER = bytes(byte for byte in range(256) if not (byte < 128 and chr(byte).isalnum()))
_LOWER = bytes(ord(chr(byte).lower()) if byte < 128 else byte for byte in range(256))
_IN_KEY = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.~+/=%:|")
_QUOTES = frozenset(b"\"'")


class Remains:
    """The secrets that a session has shown."""

    __slots__ = ("_pieces", "secrets")

    def __init__(self) -> None:
        self.secrets = self._pieces = _NONE
        """Every third piece of a long secret: a part of 8 characters or more has one of them."""

    def add(self, secrets: Iterable[bytes]) -> None:
        if self.secrets is _NONE:
            self.secrets, self._pieces = set(), set()
        for secret in secrets:
            bare = _strip(Readable(secret).text)[-_MOST_BYTES:]
            if len(bare) >= _SHORTEST and len(self.secrets) < _MOST_SECRETS:
                self.secrets.add(bare)
                self._pieces.update(_pieces_of(bare, 1 if len(bare) < _LONG else _STRIDE))

    def find(self, segment: bytes) -> list[Span]:
        """The spans of what is left of secrets, in order and apart."""
        readable = Readable(segment)
        bare = _strip(readable.text)
        if not any(piece in bare for piece in self._pieces):
            return []
        places = [at for at, byte in enumerate(readable.text) if byte not in _OTHER]
        spans = [
            self._widen(readable.text, places[begin], places[end - 1] + 1)
            for begin, end in self._covered(bare)
        ]
        apart: list[Span] = []
        for begin, end in (part for span in spans for part in _between_quotes(readable.text, span)):
            if apart and begin <= apart[-1][1]:
                apart[-1] = apart[-1][0], max(end, apart[-1][1])
            else:
                apart.append((begin, end))
        return readable.locate(apart)

    def _covered(self, bare: bytes) -> Iterator[Span]:
        """The parts of a text without its white space that pieces of secrets cover."""
        pieces = {piece for secret in self.secrets for piece in _pieces_of(secret)}
        begin = end = -1
        for at in range(len(bare) - _PIECE + 1):
            if bare[at : at + _PIECE] in pieces:
                if begin < 0:
                    begin = at
                elif at > end + _GAP:
                    yield begin, end
                    begin = at
                end = at + _PIECE
        if begin >= 0:
            yield begin, end

    @staticmethod
    def _widen(text: bytes, begin: int, end: int) -> Span:
        while begin and text[begin - 1] in _IN_KEY:
            begin -= 1
        while end < len(text) and text[end] in _IN_KEY:
            end += 1
        return begin, end


def _pieces_of(secret: bytes, stride: int = 1) -> set[bytes]:
    """The pieces that a secret is known by, every so many."""
    last = len(secret) - _PIECE
    pieces = {secret[at : at + _PIECE] for at in (*range(0, last, stride), last)}
    mixed = {one for one in pieces if not one.isalpha() and not one.isdigit()}
    return mixed if mixed and len(secret) < _LONG else pieces


def _strip(text: bytes) -> bytes:
    """Letters and digits only, in lower case."""
    return text.translate(_LOWER, _OTHER)


def _between_quotes(text: bytes, span: Span) -> Iterator[Span]:
    """The parts of a span: quotes stay, since they may be JSON's own."""
    begin, end = span
    for at in range(*span):
        if text[at] in _QUOTES:
            if at > begin:
                yield begin, at
            begin = at + 1
    if end > begin:
        yield begin, end
