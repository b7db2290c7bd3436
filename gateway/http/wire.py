"""Write an answer straight to the client's connection, in as few writes as possible.

For a streamed answer, an ASGI message per part with its checks and its own write costs more than everything
that is done with the text.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import (
    HEADER_RE,
    HEADER_VALUE_RE,
    STATUS_LINE,
    RequestResponseCycle,
)

from crosswind.gateway.http.headers import Headers

_BODILESS = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})
_UNTIL_CLOSE = -1


class Wire:
    """The answer to one of uvicorn's requests, in place of its `send`."""

    def __init__(self, send: Callable[..., Any]) -> None:
        # What ASGI hides: uvicorn's `send` is a method of its record of the request.
        self._cycle: RequestResponseCycle = send.__self__  # type: ignore[attr-defined]
        self._head = b""
        """The head, while it is to be written before the body."""
        self._chunked = False
        self._left = 0
        """How many announced bytes of the body are not yet written; _UNTIL_CLOSE if none were announced."""

    @property
    def paused(self) -> bool:
        """Whether the client reads so slowly that no more should be written."""
        return self._cycle.flow.write_paused and not self._cycle.disconnected

    async def wait_until_drained(self) -> None:
        """Wait while it is `paused` and the client is there."""
        if self.paused:
            await self._cycle.flow.drain()

    def start(self, status: int, headers: Headers) -> None:
        """Take the answer's head, which goes out with the next part, the end, or `flush`."""
        cycle = self._cycle
        cycle.response_started, cycle.waiting_for_100_continue = True, False
        given = [*cycle.default_headers, *headers]
        named = {name.lower(): value for name, value in given}
        values = b"".join([value for _, value in given])
        if HEADER_RE.search(b"".join(named)) or HEADER_VALUE_RE.search(values):
            raise RuntimeError("a header's name or value can't be sent")
        lines = [b"%b: %b\r\n" % (name.lower(), value) for name, value in given]
        closing = b"close" in [token.strip() for token in named.get(b"connection", b"").lower().split(b",")]
        if not cycle.keep_alive and not closing:
            lines.append(b"connection: close\r\n")
        cycle.keep_alive &= not closing
        if cycle.scope["method"] == "HEAD":
            self._left = _UNTIL_CLOSE  # nothing of the body is written
        elif status in _BODILESS:
            self._left = 0  # a 304 may announce the length of the body that it leaves out
        elif b"content-length" in named:
            self._left = int(named[b"content-length"])
        elif cycle.scope["http_version"] == "1.0":
            self._left = _UNTIL_CLOSE  # HTTP/1.0 has no chunks, and closes its connections
        else:
            self._chunked = True
            if named.get(b"transfer-encoding", b"").lower() != b"chunked":
                lines.append(b"transfer-encoding: chunked\r\n")
        self._head = b"%b%b\r\n" % (STATUS_LINE[status], b"".join(lines))

    def flush(self) -> None:
        """Send the head alone, if it still waits."""
        if self._head:
            self._put(b"")

    def write(self, body: bytes) -> None:
        """Send a part of the body, which isn't empty."""
        if self._chunked:
            self._put(b"%x\r\n%b\r\n" % (len(body), body))
        else:
            self._count(body)
            self._put(body)

    def end(self, body: bytes) -> None:
        """Send the last part of the body, which may be empty."""
        if self._chunked:
            self._put(b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body) if body else b"0\r\n\r\n")
        else:
            self._count(body)
            self._put(body)
            if self._left > 0:
                raise RuntimeError("the answer is shorter than its content-length")
        cycle = self._cycle
        if cycle.disconnected:
            return
        cycle.response_complete = True
        cycle.message_event.set()
        if not cycle.keep_alive:
            cycle.transport.close()
        cycle.on_response()

    def disconnect(self) -> None:
        """Write no more: the client has left."""
        self._cycle.disconnected = True

    def close(self, *, reset: bool) -> None:
        """Close the connection. What was written arrives, unless it is `reset`."""
        transport = self._cycle.transport
        self.disconnect()  # else uvicorn answers 500
        if not reset:
            transport.close()
            return
        if (connection := transport.get_extra_info("socket")) is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()

    def _count(self, body: bytes) -> None:
        if self._left == _UNTIL_CLOSE:
            return
        self._left -= len(body)
        if self._left < 0:
            raise RuntimeError("the answer is longer than its content-length")

    def _put(self, data: bytes) -> None:
        head, self._head = self._head, b""
        if self._cycle.scope["method"] == "HEAD":
            data = b""
        if not self._cycle.disconnected and (head or data):
            self._cycle.transport.write(head + data if head else data)
