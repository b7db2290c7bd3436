"""Redirects within an upstream: led back through the gateway, past which a client would go otherwise."""

from __future__ import annotations

from urllib.parse import urlsplit

from crosswind.gateway.http.headers import Headers


def led_back(headers: Headers, base: str, path: str) -> Headers:
    """An answer's headers for the client. `base`: the replica's URL, `path`: what of the request followed it.

    A `Location` under the base becomes relative to the request's own URL (RFC 3986, section 4.2), whatever
    prefix that has here. Others stay.
    """
    return [
        (name, _relative(value, base.rstrip("/"), path) if name.lower() == b"location" else value)
        for name, value in headers
    ]


def _relative(location: bytes, base: str, path: str) -> bytes:
    for start in (base, urlsplit(base).path):
        within = start.encode() + b"/"
        if location.startswith(within) and not location.startswith(b"//"):
            steps = path.partition("?")[0].count("/") - 1
            return (b"../" * steps or b"./") + location[len(within) :]
    return location
