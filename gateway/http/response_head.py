"""Write the status line and the headers of an answer."""

from __future__ import annotations

import re
from functools import cache
from http import HTTPStatus
from typing import Self

import msgspec

from crosswind.gateway.http.headers import Headers

_BAD_NAME = re.compile(rb'[\x00-\x1f\x7f()<>@,;:\[\]={} \t\\"]')
_BAD_VALUE = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_MOST_NAMES = 1000
_names: dict[bytes, bytes] = {}
"""Names that can be sent, in lower case."""


class ResponseHead(msgspec.Struct, frozen=True, gc=False):
    """A head as bytes, and what it says about the body and the connection."""

    lines: bytes
    """Without the empty line at the end."""
    length: int | None
    chunked: bool
    closes: bool

    @classmethod
    def encode(cls, status: int, headers: Headers) -> Self:
        """RuntimeError for a header that would be another."""
        out = [status_line(status)]
        length, chunked, closes = None, False, False
        for name, value in headers:
            lower = _names.get(name) or _check_name(name)
            if lower == b"content-length":
                length = int(value)
            elif lower == b"transfer-encoding":
                chunked = value.lower() == b"chunked"
            elif lower == b"connection":
                closes = b"close" in [token.strip() for token in value.lower().split(b",")]
            out += (lower, b": ", value, b"\r\n")
        if _BAD_VALUE.search(b"".join([value for _, value in headers])):
            raise RuntimeError("a header's value can't be sent")
        return cls(b"".join(out), length, chunked, closes)


@cache
def status_line(status: int) -> bytes:
    """The first line of an answer."""
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = ""
    return b"HTTP/1.1 %d %b\r\n" % (status, phrase.encode())


def _check_name(name: bytes) -> bytes:
    """A header's name in lower case, if it is one."""
    if _BAD_NAME.search(name):
        raise RuntimeError("a header's name can't be sent")
    lower = name.lower()
    if len(_names) < _MOST_NAMES:
        _names[name] = lower
    return lower
