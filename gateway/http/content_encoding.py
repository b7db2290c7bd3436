"""Decode Content-Encoding for inspection, within bounds; the relayed bytes are unchanged."""

from __future__ import annotations

import gzip
import importlib
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Protocol

_PIECE = 1 << 18
"""The most bytes that are decoded at a time."""
_SLICE = 256
"""The most bytes that a decoder without bounds is fed at a time: zstd makes 128 KB of four."""
_ZLIB_SLICE = 4096
"""The most bytes that zlib is fed at a time: it copies the rest of them at the end of each member."""
_MOST_MEMBERS = 1 << 16
"""Of one body. They cost time even where nothing is in them."""
_MOST_LAYERS = 5
"""How often a body may be encoded."""


class _Decoder(Protocol):
    def feed(self, data: bytes) -> Iterator[bytes]:
        """The decoded bytes in bounded pieces. Raises its library's errors for broken data."""
        ...


class ContentDecoder:
    """Decodes a body chunk by chunk, up to `limit` decoded bytes. It stops for good at the first error:
    `failed` says so. `hold` is asked before each piece is kept, and stops it, too: `refused` says so.
    """

    def __init__(self, encoding: str, limit: int, hold: Callable[[int], bool] = bool) -> None:
        names = [name for one in encoding.lower().split(",") if (name := one.strip()) not in ("", "identity")]
        self.plain = not names
        """Nothing needs decoding."""
        self.refused = False
        self._left = limit
        self._between = limit + _PIECE
        """How many bytes more may come out of encodings that lie around another."""
        self._hold = hold
        known = _decoders() if 0 < len(names) <= _MOST_LAYERS else {}
        self._decoders = [known[name]() for name in reversed(names) if name in known]
        self.failed = len(self._decoders) < len(names)

    def feed(self, chunk: bytes) -> bytes:
        """Decode a chunk."""
        if self.plain or self.failed:
            return b"" if self.failed else chunk
        out = bytearray()
        try:
            for piece in self._through(chunk, 0):
                if not self._hold(len(piece) or 1):
                    self.failed = self.refused = True
                    break
                out += piece
                if len(out) > self._left:
                    self.failed = True
                    break
        except Exception:
            # Each library has errors of its own. Whatever it is, the bytes are relayed unchanged.
            self.failed = True
        del out[self._left :]
        self._left -= len(out)
        return bytes(out)

    def _through(self, data: bytes, depth: int) -> Iterator[bytes]:
        if depth == len(self._decoders):
            yield data
            return
        if depth:
            self._between -= len(data)
            if self._between < 0:
                raise _TooLarge
        for piece in self._decoders[depth].feed(data):
            yield from self._through(piece, depth + 1)


class _TooLarge(Exception):
    """What lies between two encodings is, or the members of one are too many."""


class _Zlib:
    """gzip, also with several members, and deflate with or without its header."""

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)
        self._head = b""
        """The first two bytes, which tell whether there is a header."""
        self._members = 1

    def feed(self, data: bytes) -> Iterator[bytes]:
        for start in range(0, len(data), _ZLIB_SLICE):
            yield from self._feed(data[start : start + _ZLIB_SLICE])

    def _feed(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._inflate.eof:
                self._members = _count_member(self._members)
                self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)
            try:
                piece = self._inflate.decompress(data, _PIECE)
            except zlib.error:
                if len(self._head) >= 2:
                    raise
                self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)
                piece = self._inflate.decompress(self._head + data, _PIECE)
            if len(self._head) < 2:
                self._head += data[:2]
            data = self._inflate.unused_data if self._inflate.eof else self._inflate.unconsumed_tail
            yield piece


class _Zstd:
    def __init__(self) -> None:
        self._make = _library("zstandard").ZstdDecompressor(max_window_size=1 << 27).decompressobj
        self._frame = self._make()
        self._members = 1

    def feed(self, data: bytes) -> Iterator[bytes]:
        for start in range(0, len(data), _SLICE):
            rest = data[start : start + _SLICE]
            while rest:
                if self._frame.eof:
                    self._members = _count_member(self._members)
                    self._frame = self._make()
                yield self._frame.decompress(rest)
                rest = self._frame.unused_data if self._frame.eof else b""


def _count_member(members: int) -> int:
    if members >= _MOST_MEMBERS:
        raise _TooLarge
    return members + 1


class _Brotli:
    def __init__(self) -> None:
        self._decompressor = _library("brotli").Decompressor()

    def feed(self, data: bytes) -> Iterator[bytes]:
        yield self._decompressor.process(data, output_buffer_limit=_PIECE)
        while not self._decompressor.can_accept_more_data() and not self._decompressor.is_finished():
            yield self._decompressor.process(b"", output_buffer_limit=_PIECE)


def _library(name: str) -> Any:
    return importlib.import_module(name)


@cache
def _decoders() -> dict[str, Callable[[], _Decoder]]:
    """The available decoders: zlib's always, others if their library is installed."""
    found: dict[str, Callable[[], _Decoder]] = {"gzip": _Zlib, "x-gzip": _Zlib, "deflate": _Zlib}
    for name, make in (("zstd", _Zstd), ("br", _Brotli)):
        try:
            _check(make)
        except Exception:
            # Not installed, or too old to be bounded.
            continue
        found[name] = make
    return found


def _check(make: Callable[[], _Decoder]) -> None:
    """Raise if a decoder doesn't work: Brotli's first releases take no bound."""
    list(make().feed(b""))


def encode_content(encoding: str, body: bytes) -> bytes | None:
    """The body in this encoding; None where it can't be written in it."""
    match encoding.strip().lower():
        case "gzip" | "x-gzip":
            return gzip.compress(body, mtime=0)
        case "deflate":
            return zlib.compress(body)
        case "br" if "br" in _decoders():
            return bytes(_library("brotli").compress(body))
        case "zstd" if "zstd" in _decoders():
            return bytes(_library("zstandard").ZstdCompressor().compress(body))
    return None
