"""The body of a request: as its client sent it, and as it reads."""

from __future__ import annotations

import asyncio

import msgspec

from crosswind.gateway.http.asgi import Http
from crosswind.gateway.http.content_encoding import ContentDecoder


class RequestBody(msgspec.Struct, frozen=True):
    """A body. `raw` is what came; `body` is that without its `Content-Encoding`, where it can be undone."""

    raw: bytes
    body: bytes

    def to_send(self, body: bytes) -> tuple[bytes, dict[bytes, bytes | None]]:
        """What goes on where `body` is to, and the headers that it takes: what came, where nothing was
        changed; else it isn't encoded again.
        """
        changes: dict[bytes, bytes | None] = {}
        if body is self.body:
            body = self.raw
        elif self.raw is not self.body:
            changes[b"content-encoding"] = None
        changes[b"content-length"] = str(len(body)).encode()
        return body, changes


async def read_body(http: Http, limit: int) -> RequestBody:
    """Read a request's body. `limit`: of bytes as they come, and of decoded ones, above which it stays as it
    is. ServiceError 413.
    """
    raw = await http.body(limit)
    encoding = http.header(b"content-encoding")
    if encoding is None:
        return RequestBody(raw, raw)
    decoding = ContentDecoder(encoding, limit)
    if decoding.plain or decoding.failed:
        return RequestBody(raw, raw)
    # Off the loop: what is decoded may be much larger than what came.
    body = await asyncio.to_thread(decoding.feed, raw)
    return RequestBody(raw, raw if decoding.failed else body)
