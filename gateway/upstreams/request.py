"""A request as an upstream gets it, and the bytes of its head."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import msgspec

from crosswind.gateway.http.headers import Headers
from crosswind.gateway.upstreams.address import Address

Body = bytes | Callable[[], AsyncIterator[bytes]] | None
"""A body at hand, one that is still to be read, or none."""

_IDEMPOTENT = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"})
"""Methods that mean the same when they come twice (RFC 9110, section 9.2.2)."""
_BODILESS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_LENGTH = b"\r\ncontent-length: "


class UpstreamRequest(msgspec.Struct, frozen=True):
    """A request; `path` follows the upstream's base, with the query. Headers' names are in lower case."""

    method: str
    path: str
    headers: Headers
    body: Body

    @property
    def repeatable(self) -> bool:
        """Whether it can be sent again after it was sent once."""
        return not callable(self.body)

    @property
    def idempotent(self) -> bool:
        """Whether it may be sent again although it may have been processed."""
        return self.method in _IDEMPOTENT and self.repeatable

    @property
    def chunked(self) -> bool:
        """Whether its body goes in chunks, since it is still to be read and no header tells its length."""
        return callable(self.body) and all(name != b"content-length" for name, _ in self.headers)

    def head(self, address: Address) -> bytes:
        """The request's head. ValueError where a header has a line end in it."""
        fields = [
            b"%b %b%b HTTP/1.1\r\nHost: %b"
            % (self.method.encode(), address.path, self.path.encode("latin-1"), address.host)
        ]
        fields += [b"%b: %b" % field for field in self.headers]
        head = b"\r\n".join(fields)
        if not head.count(b"\r") == head.count(b"\n") == len(fields):
            raise ValueError("a header's value has a line end in it; the request isn't sent")
        return b"%b%b\r\n\r\n" % (head, b"" if _LENGTH in head else self._framing())

    def _framing(self) -> bytes:
        """How the body's end is told, where the client's headers don't say it."""
        if callable(self.body):
            return b"\r\ntransfer-encoding: chunked"
        if self.body is None and self.method in _BODILESS:
            return b""
        return b"%b%d" % (_LENGTH, len(self.body or b""))
