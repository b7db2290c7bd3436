"""One HTTP exchange with a client of our server: the request, the answer, and a client that leaves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from functools import partial
from typing import Any

from crosswind.gateway.errors import ServiceError
from crosswind.gateway.http.headers import Headers
from crosswind.gateway.http.wire import Wire

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

WHEN_GONE = "crosswind.when_gone"
"""An ASGI extension: our server calls back when the client leaves."""

JSON: Headers = [(b"content-type", b"application/json")]


class ClientGone(Exception):
    """The client closed its connection before its request was complete."""


class Http:
    """A request and its answer, of which `started` and `complete` say how far it was sent."""

    def __init__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        self.method: str = scope["method"]
        self.raw_path: bytes = scope.get("raw_path") or scope["path"].encode()
        self.query: bytes = scope.get("query_string", b"")
        self.headers: Headers = list(scope["headers"])
        self.started = False
        self.complete = False
        self.gone = False
        self.broken = False
        """We closed the client's connection before the answer's end."""
        self.read = False
        """The request's body was read to its end."""
        self._receive = receive
        self._extensions = scope.get("extensions", {})
        self._wire = Wire(send)
        self.first: Mapping[bytes, bytes] = dict(reversed(self.headers))
        """The headers by name; the first of equal names counts."""

    def header(self, name: bytes) -> str | None:
        """The first value of a header (its name in lower case)."""
        value = self.first.get(name)
        return None if value is None else value.decode("latin-1").strip()

    @property
    def head_bytes(self) -> int:
        """The size of the request's headers."""
        return sum([len(name) + len(value) for name, value in self.headers])

    async def chunks(self) -> AsyncIterator[bytes]:
        """The request's body, part by part as it arrives."""
        while not self.read:
            if part := await self._part():
                yield part

    async def _part(self) -> bytes:
        """The next part of the request's body, which may be empty."""
        message = await self._receive()
        if message["type"] == "http.disconnect":
            self.gone = True
            raise ClientGone
        self.read = not message.get("more_body", False)
        body: bytes = message.get("body", b"")
        return body

    async def body(self, limit: int) -> bytes:
        """The whole body. ServiceError 413 above the limit, in bytes."""
        length = self.header(b"content-length")
        if length and length.isdigit() and int(length) > limit:
            raise _too_large(limit)
        parts, size = [], 0
        while not self.read:
            parts.append(await self._part())
            size += len(parts[-1])
            if size > limit:
                raise _too_large(limit)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def cancel_when_gone(self) -> None:
        """From now on, cancel the current task when the client leaves."""
        task = asyncio.current_task()
        assert task is not None
        self._call_when_gone(partial(self._leave, task))

    def stop_watching(self) -> None:
        """The exchange is over: don't cancel it any more."""
        self._call_when_gone(None)

    def _call_when_gone(self, told: Callable[[], None] | None) -> None:
        self._extensions[WHEN_GONE]["call"](told)

    def _leave(self, task: asyncio.Task[Any]) -> None:
        if not self.complete:
            self.gone = True
            self._wire.disconnect()  # uvicorn sees this for the last of several pipelined requests only
            task.cancel()

    async def start(self, status: int, headers: Headers, *, follows: bool = False) -> None:
        """Send the answer's head. `follows`: a part or the end comes at once, and is sent with it."""
        self.started = True
        await self._wire.wait_until_drained()
        self._wire.start(status, headers)
        if not follows:
            self._wire.flush()

    async def chunk(self, body: bytes) -> None:
        """Send a part of the answer's body."""
        if not self.write(body):
            await self._wire.wait_until_drained()
            self.write(body)

    def write(self, body: bytes) -> bool:
        """Send a part of the answer's body at once; False if that would have to wait."""
        wire = self._wire
        if not self.broken:
            if wire.paused:
                return False
            if body:
                wire.write(body)
            else:
                wire.flush()
        return True

    async def end(self, body: bytes = b"") -> None:
        """Send the last part of the answer's body."""
        self.complete = True
        await self._wire.wait_until_drained()
        self._wire.end(body)

    def cut(self, *, reset: bool = False) -> None:
        """Close the connection before the answer's end. What was sent arrives, unless it is `reset`."""
        self.broken = self.complete = self.started = True
        self._wire.close(reset=reset)

    def bare(self) -> Http:
        """The client itself."""
        return self

    async def answer(self, status: int, body: bytes, headers: Headers = JSON) -> None:
        """Send a whole answer."""
        counted = [*headers, (b"content-length", b"%d" % len(body))]
        await self.start(status, counted, follows=True)
        await self.end(body)


def _too_large(limit: int) -> ServiceError:
    return ServiceError(
        413,
        f"the request's body is larger than {limit} bytes; send less, or raise limits.body",
        code="body_too_large",
    )
