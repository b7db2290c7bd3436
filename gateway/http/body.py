"""A request's body, encoded as the client sent it and decoded for reading."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from crosswind.gateway.http.content_encoding import ContentDecoder
from crosswind.gateway.http.request import HttpRequest


class RequestBody(msgspec.Struct, frozen=True):
    """`raw` as received, and `body` without its `Content-Encoding`, if that can be decoded."""

    raw: bytes
    body: bytes
    encoded: bool = False
    """`body` has its `Content-Encoding` still."""

    def to_send(self, body: bytes) -> tuple[bytes, dict[bytes, bytes | None]]:
        """The bytes to send for a body, and the changes of headers for them: those received if the body is
        unchanged; otherwise it isn't encoded again.
        """
        changes: dict[bytes, bytes | None] = {}
        if body is self.body:
            body = self.raw
        elif self.raw is not self.body:
            changes[b"content-encoding"] = None
        changes[b"content-length"] = str(len(body)).encode()
        return body, changes


async def read_body(http: HttpRequest, limit: int, in_use: Callable[[], bool] | None = None) -> RequestBody:
    """Read a request's body. `limit` holds for the received bytes (ServiceError 413) and for the decoded
    ones, above which the body stays encoded. ServiceError 503 where all bodies together take too much memory.
    `in_use` says whether it is for a session that is in use, which is refused last.
    """
    raw = await http.body(limit, in_use)
    if not http.head.template.encoded:
        return RequestBody(raw, raw)
    encoding = b",".join([value for name, value in http.head.template.headers if name == b"content-encoding"])
    decoding = ContentDecoder(encoding.decode("latin-1"), limit, http.hold_decoded)
    if decoding.plain or decoding.failed:
        return RequestBody(raw, raw, encoded=decoding.failed)
    # Off the loop, since the decoded body may be much larger than the received one.
    body = await asyncio.to_thread(decoding.feed, raw)
    if decoding.refused:
        raise http.refuse_body()
    return RequestBody(raw, raw if decoding.failed else body, encoded=decoding.failed)
