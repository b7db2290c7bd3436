"""One HTTP/1.1 connection to a server: a request written, and its answer as it comes, one at a time.

On asyncio's transports with httptools, the parser that the data plane's server uses too: what a client for
everything does for each request costs more than the rest of a relay.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import cast

from crosswind.gateway.upstreams.incoming import ConnectionBroken, ResponseParser

_KEPT_RECEIVED = 1 << 18
"""Bytes of an answer that are held for a slow client, before the upstream is made to wait."""
_COPIED = 1 << 16
"""Up to so many bytes a body is copied behind its head, and written as one."""


class Connection(ResponseParser, asyncio.Protocol):
    """A connection and the answer that comes on it."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.lost = False
        """The server closed it, or it is of no use any more."""
        self.since = 0.0
        """When its last answer ended, on the loop's clock."""
        self._reading = self._writing = True
        self._held = 0
        """Bytes that came since any were taken."""
        self._loop = asyncio.get_running_loop()
        self._waiter: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._due = self._timer_at = 0.0
        self._take: Callable[[bytes], bool] | None = None
        self._patience_s = self._until = 0.0
        self._drained: asyncio.Future[None] | None = None
        self._upload: asyncio.Task[None] | None = None

    # The request

    def send(self, head: bytes, body: bytes, *, head_only: bool) -> None:
        """Write a request. `head_only`: its answer has no body, whatever its head says."""
        self.expect(head_only=head_only)
        if not body:
            self._transport.write(head)
        elif len(body) <= _COPIED:
            self._transport.write(head + body)
        else:
            self._transport.writelines((head, body))

    def upload(self, head: bytes, body: AsyncIterator[bytes], *, chunked: bool, head_only: bool) -> None:
        """Write a request whose body is still to be read. The answer may come before it has gone out."""
        self.expect(head_only=head_only)
        self._transport.write(head)
        self._upload = self._loop.create_task(self._uploaded(body, chunked))

    async def _uploaded(self, body: AsyncIterator[bytes], chunked: bool) -> None:
        try:
            async for part in body:
                self._transport.write(b"%x\r\n%b\r\n" % (len(part), part) if chunked else part)
                if not self._writing:
                    self._drained = self._loop.create_future()
                    await self._drained
            if chunked:
                self._transport.write(b"0\r\n\r\n")
        except Exception as error:
            # Whoever waits for the answer learns why there can be none.
            self.failed(error)
            self._transport.abort()

    # The answer

    async def answered(self, until: float) -> None:
        """Wait for the answer's head. TimeoutError where it isn't there at `until`, on the loop's clock;
        Broken, or what the body's reading raised, where it can't come.
        """
        while not self.head:
            if self.failure is not None:
                raise self.failure
            await self._changed(until)

    def received(self) -> bytes:
        """What of the body has come and wasn't taken yet; empty where nothing has. Broken once it can't come
        whole and all that came is taken.
        """
        parts = self.parts
        if not parts:
            if self.failure is not None and not self.ended:
                raise self.failure
            return b""
        body = parts[0] if len(parts) == 1 else b"".join(parts)
        parts.clear()
        self._held = 0
        if not self._reading:
            self._reading = True
            self._transport.resume_reading()
        return body

    async def more(self, until: float) -> bytes:
        """The same, waited for until then; empty at the end. TimeoutError where nothing comes."""
        while not (body := self.received()) and not self.ended:
            await self._changed(until)
        return body

    async def poured(self, take: Callable[[bytes], bool], patience_s: float, until: float) -> None:
        """Have `take` called with whatever of the body comes, as soon as it comes, until it gives False, the
        answer ends, or it can't come whole: a stream's many small parts each wake no task. TimeoutError after
        `patience_s` with nothing, or at `until`; what `take` raises is raised.
        """
        self._take, self._patience_s, self._until = take, patience_s, until
        try:
            await self._changed(min(self._loop.time() + patience_s, until))
        finally:
            self._take = None

    def _pour(self, take: Callable[[bytes], bool]) -> None:
        """Hand over what has come; where that is all for now, go on waiting."""
        try:
            goes_on = take(self.received()) if self.parts else True
        except Exception as error:
            self._take = None
            if self._waiter is not None and not self._waiter.done():
                self._waiter.set_exception(error)
            return
        if goes_on and not self.ended:
            self._due = min(self._loop.time() + self._patience_s, self._until)
        else:
            self._take = None
            self._wake()

    async def _changed(self, until: float) -> None:
        """Wait for anything to come. One timer serves many waits: each would cost as much as what comes."""
        self._waiter = self._loop.create_future()
        self._due = until
        if self._timer is None or self._timer_at > until:
            self._set_timer(until)
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _set_timer(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = at
        self._timer = self._loop.call_at(at, self._time)

    def _time(self) -> None:
        self._timer = None
        if self._waiter is None or self._waiter.done():
            return
        if self._loop.time() < self._due:
            self._set_timer(self._due)
        else:
            self._waiter.set_exception(TimeoutError())

    @property
    def reusable(self) -> bool:
        """Whether another request may be sent: the answer has come whole, the request has gone whole."""
        sent = self._upload is None or self._upload.done()
        return self.ended and self.keeps and sent and not self.lost and not self.parts

    def rest(self) -> None:
        """Nobody waits for an answer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._upload = None
        self.since = self._loop.time()

    def cut(self) -> None:
        """Close it at once, whatever is on its way."""
        self.lost = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._upload is not None:
            self._upload.cancel()
        self._transport.abort()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def failed(self, error: BaseException) -> None:
        self.lost = True
        self.failure = self.failure or error
        self._wake()

    # asyncio's protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if self.ended:
            # Nothing was asked: a server's farewell, or bytes that belong to no answer.
            self.lost = True
            return self._transport.abort()
        self.feed(data)
        self._held += len(data)
        if self._held > _KEPT_RECEIVED and self._reading and not self.lost:
            self._reading = False
            self._transport.pause_reading()
        if self._take is not None:
            self._pour(self._take)
        elif self.head:
            self._wake()

    def eof_received(self) -> None:
        self._over(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self._over(exc)
        self.resume_writing()
        if self._upload is not None:
            self._upload.cancel()

    def _over(self, error: Exception | None) -> None:
        self.lost = True
        if not self.ended and self.head and self.until_close and error is None:
            self.ended = True
        if not self.ended:
            self.failed(ConnectionBroken(str(error) or type(error).__name__ if error else "it closed the connection"))
        self._wake()

    def pause_writing(self) -> None:
        self._writing = False

    def resume_writing(self) -> None:
        self._writing = True
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)
