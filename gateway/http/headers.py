"""Header fields: which go on to the next hop, which hold credentials, and how an answer's are written."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from http import HTTPStatus
from typing import Self

import msgspec

Headers = list[tuple[bytes, bytes]]
"""ASGI's names are in lower case; an upstream's are in any case."""

Changes = Mapping[bytes, bytes | None]
"""Fields to set, or to drop (None)."""

HOP_BY_HOP = frozenset(
    {
        b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection",
        b"te", b"trailer", b"transfer-encoding", b"upgrade",
    }
)  # fmt: skip
_NOT_FORWARDED = HOP_BY_HOP | {b"host", b"expect"}
_USUAL = (b"keep-alive", b"close")
"""The usual values of `Connection`, which name no header to drop."""
OWN_PREFIX = b"x-crosswind-"
_OWN = len(OWN_PREFIX)
VIA = b"x-crosswind-via"
"""The marks of the gateways that a request came through, by which one recognises its own."""
CREDENTIALS = (b"authorization", b"api-key", b"x-api-key", b"x-goog-api-key")
_BAD_NAME = re.compile(rb'[\x00-\x1f\x7f()<>@,;:\[\]={} \t\\"]')
CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")


def drop_hop_by_hop(headers: Sequence[tuple[bytes, bytes]]) -> Headers:
    """The headers without those for one hop only, which `Connection` may name."""
    kept = [field for field in headers if field[0].lower() not in HOP_BY_HOP]
    if len(kept) == len(headers):
        return kept  # no `Connection` either
    return _without_named(kept, [value for name, value in headers if name.lower() == b"connection"])


def forward_headers(headers: Sequence[tuple[bytes, bytes]], changes: Changes) -> Headers:
    """A client's headers for the upstream: without hop-by-hop ones and ours, with `changes` applied."""
    left_out = _NOT_FORWARDED.union(changes)
    kept = [field for field in headers if field[0] not in left_out and field[0][:_OWN] != OWN_PREFIX]
    kept = _without_named(kept, [value for name, value in headers if name == b"connection"])
    return kept + [(name, value) for name, value in changes.items() if value is not None]


def _without_named(kept: Headers, named: Sequence[bytes]) -> Headers:
    """Drop the headers that the values of `Connection` name."""
    if not [value for value in named if value not in _USUAL]:
        return kept
    tokens = {token.strip().lower() for value in named for token in value.split(b",")}
    return [field for field in kept if field[0].lower() not in tokens]


class WrittenHeaders(msgspec.Struct, frozen=True, gc=False):
    """An answer's status line and headers as bytes, and what they say about its body and connection."""

    lines: bytes
    """Without the empty line at the end."""
    length: int | None
    chunked: bool = False
    closes: bool = False

    @classmethod
    def write(cls, status: int, headers: Headers) -> Self:
        """RuntimeError for a header that would be another."""
        names = [name.lower() for name, _ in headers]
        if _BAD_NAME.search(b"".join(names)):
            raise RuntimeError("a header's name can't be sent")
        if CONTROL.search(b"".join([value for _, value in headers])):
            raise RuntimeError("a header's value can't be sent")
        length, chunked, closes, lines = None, False, False, [status_line(status)]
        for name, (_, value) in zip(names, headers, strict=True):
            lines.append(b"%b: %b\r\n" % (name, value))
            if name == b"content-length":
                length = int(value)
            elif name == b"transfer-encoding":
                chunked = value.lower() == b"chunked"
            elif name == b"connection":
                closes = b"close" in [token.strip() for token in value.lower().split(b",")]
        return cls(b"".join(lines), length, chunked, closes)


@cache
def status_line(status: int) -> bytes:
    """The first line of an answer."""
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = ""
    return b"HTTP/1.1 %d %b\r\n" % (status, phrase.encode())
