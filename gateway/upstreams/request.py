"""A request to an upstream, and the bytes of its head."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence

import msgspec

from crosswind.gateway.upstreams.address import Address

Body = bytes | Callable[[], AsyncIterator[bytes]] | None
"""Bytes, a stream that is still to be read, or no body."""

_IDEMPOTENT = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"})
"""Idempotent methods (RFC 9110, section 9.2.2)."""
_BODILESS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_LENGTH = b"\r\ncontent-length: "


class KnownLines(msgspec.Struct, eq=False):
    """The path and the headers of many requests of one method, which were written already."""

    path: str
    lines: bytes
    address: Address | None = None
    start: bytes = b""
    """The head for this address up to the length of the body."""


class UpstreamRequest(msgspec.Struct, frozen=True):
    """A request. `path` follows the base URL and includes the query; header names are in lower case."""

    method: str
    path: str
    headers: Sequence[tuple[bytes, bytes]]
    body: Body
    known: KnownLines | None = None
    """What stands for `headers`, where they were written already."""

    @property
    def repeatable(self) -> bool:
        """Whether it can be sent twice: a stream can be read only once."""
        return not callable(self.body)

    @property
    def idempotent(self) -> bool:
        """Whether it may be sent again even if it may have been processed."""
        return self.method in _IDEMPOTENT and self.repeatable

    @property
    def chunked(self) -> bool:
        """Whether to send the body in chunks: it is a stream, and no header gives its length."""
        return callable(self.body) and all(name != b"content-length" for name, _ in self.headers)

    def head(self, address: Address) -> bytes:
        """The bytes of the head. Raises ValueError if a header contains a line end."""
        known = self.known
        if known is None or not isinstance(self.body, bytes):
            lines = write_lines(self.headers) if known is None else known.lines
            framing = b"" if _LENGTH in lines else self._format_framing()
            return b"%b%b\r\n\r\n" % (self._write_start(address, lines), framing)
        if known.address is not address:
            known.start, known.address = self._write_start(address, known.lines) + _LENGTH, address
        return b"%b%d\r\n\r\n" % (known.start, len(self.body))

    def _write_start(self, address: Address, lines: bytes) -> bytes:
        if "\r" in self.path or "\n" in self.path:
            raise ValueError("the path contains a line end; the request was not sent")
        target = address.path + self.path.encode("latin-1")
        if not target.startswith(b"/"):
            target = b"/" + target  # A base without a path, and nothing behind it.
        return b"%b %b HTTP/1.1\r\nHost: %b%b" % (self.method.encode(), target, address.host, lines)

    def _format_framing(self) -> bytes:
        """The header that delimits the body, if the client sent none."""
        if callable(self.body):
            return b"\r\ntransfer-encoding: chunked"
        if self.body is None and self.method in _BODILESS:
            return b""
        return b"%b%d" % (_LENGTH, len(self.body or b""))


def write_lines(headers: Sequence[tuple[bytes, bytes]]) -> bytes:
    """Headers as they follow a line, without the end of the last. ValueError if one contains a line end."""
    lines = b"".join([b"\r\n%b: %b" % field for field in headers])
    if not lines.count(b"\r") == lines.count(b"\n") == len(headers):
        raise ValueError("a header's value contains a line end; the request was not sent")
    return lines
