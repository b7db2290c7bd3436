"""One HTTP/1.1 connection to a server: it carries one request and its response at a time.

It uses asyncio's transports and httptools, the parser of the data plane's own server: the work that a
general-purpose client does for each request costs more than the rest of a relay.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import cast

from crosswind.gateway.upstreams.response_parser import ConnectionBroken, ResponseParser

_MAX_BUFFERED = 1 << 18
"""Bytes of a response to buffer for a slow client before reading pauses."""
_MAX_COPIED = 1 << 16
"""A body of up to this many bytes is appended to the head and written with it."""


class Connection(ResponseParser, asyncio.Protocol):
    """A connection and the response that arrives on it."""

    __slots__ = (
        *("_buffered", "_drained", "_due", "_loop", "_patience_s", "_reading", "_take", "_timer"),
        *("_timer_at", "_transport", "_until", "_upload", "_waiter", "_writing", "idle_since", "lost"),
    )

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.lost = False
        """The server closed it, or it can't be used any more."""
        self.idle_since = 0.0
        """When its last response ended, on the loop's clock."""
        self._reading = self._writing = True
        self._buffered = 0
        """Bytes received since the last were taken."""
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
        """Write a request. `head_only`: the response has no body, whatever its head says."""
        self.expect(head_only=head_only)
        if len(body) <= _MAX_COPIED:
            self._transport.write(head + body)
        else:
            self._transport.writelines((head, body))

    def upload(self, head: bytes, body: AsyncIterator[bytes], *, chunked: bool, head_only: bool) -> None:
        """Write a request and stream its body. The response may arrive before all of the body is sent."""
        self.expect(head_only=head_only)
        self._transport.write(head)
        self._upload = self._loop.create_task(self._send_body(body, chunked))

    async def _send_body(self, body: AsyncIterator[bytes], chunked: bool) -> None:
        try:
            async for part in body:
                self._transport.write(b"%x\r\n%b\r\n" % (len(part), part) if chunked else part)
                if not self._writing:
                    self._drained = self._loop.create_future()
                    await self._drained
            if chunked:
                self._transport.write(b"0\r\n\r\n")
        except Exception as error:
            # Raise the error in the task that waits for the response.
            self.fail(error)
            self._transport.abort()

    # The response

    def take_received(self) -> bytes:
        """Take the bytes of the body that have arrived, perhaps none.

        Raises ConnectionBroken if all were taken and the rest can't arrive.
        """
        parts = self.parts
        if not parts:
            if self.failure is not None and not self.ended:
                raise self.failure
            return b""
        body = parts[0] if len(parts) == 1 else b"".join(parts)
        parts.clear()
        self._buffered = 0
        if not self._reading:
            self._reading = True
            self._transport.resume_reading()
        return body

    async def wait_for_body(self, until: float) -> bytes:
        """Wait for bytes of the body and take them; none at its end. Raises TimeoutError at `until`."""
        while not (body := self.take_received()) and not self.ended:
            await self.wait(until)
        return body

    async def pour(self, take: Callable[[bytes], bool], patience_s: float, until: float) -> None:
        """Call `take` with the body as it arrives, until it returns False or the response ends or fails.

        This way the many small parts of a stream don't each wake a task. Raises TimeoutError after
        `patience_s` without data or at `until`, and whatever `take` raises.
        """
        self._take, self._patience_s, self._until = take, patience_s, until
        try:
            await self.wait(min(self._loop.time() + patience_s, until))
        finally:
            self._take = None

    def _hand_over(self, take: Callable[[bytes], bool]) -> None:
        """Pass the bytes that have arrived to `take`, and extend the deadline if it wants more."""
        try:
            wants_more = not self.parts or take(self.take_received())
        except Exception as error:
            self._take = None
            if self._waiter is not None and not self._waiter.done():
                self._waiter.set_exception(error)
            return
        if wants_more and not self.ended:
            self._due = min(self._loop.time() + self._patience_s, self._until)
        else:
            self._take = None
            self._wake()

    def wait(self, until: float) -> asyncio.Future[None]:
        """What to await for the head, bytes or the end: TimeoutError at `until`, on the loop's clock. One
        timer serves many waits, since a timer costs as much as a small chunk.
        """
        self._waiter = waiter = self._loop.create_future()
        self._due = until
        if self._timer is None or self._timer_at > until:
            self._set_timer(until)
        return waiter

    def _set_timer(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = at
        self._timer = self._loop.call_at(at, self._check_timer)

    def _check_timer(self) -> None:
        self._timer = None
        if self._waiter is None or self._waiter.done():
            return
        if self._loop.time() < self._due:
            self._set_timer(self._due)
        else:
            self._waiter.set_exception(TimeoutError())

    def rest(self) -> bool:
        """The response is over; return whether another request may be sent: the request and the response are
        complete. The timer stays for the next: setting it costs more than its ring.
        """
        sent = self._upload is None or self._upload.done()
        if not (self.ended and self.keeps and sent) or self.lost or self.parts:
            return False
        self._upload = None
        self.idle_since = self._loop.time()
        return True

    def abort(self) -> None:
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

    def fail(self, error: BaseException) -> None:
        self.lost = True
        self.failure = self.failure or error
        self._wake()

    # asyncio's protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if self.ended:
            # No request is open: these bytes belong to no response.
            self.lost = True
            return self._transport.abort()
        self.feed(data)
        self._buffered += len(data)
        if self._buffered > _MAX_BUFFERED and self._reading and not self.lost:
            self._reading = False
            self._transport.pause_reading()
        if self._take is not None:
            self._hand_over(self._take)
        elif self.head:
            self._wake()

    def eof_received(self) -> None:
        self._handle_end(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self._handle_end(exc)
        self.resume_writing()
        if self._upload is not None:
            self._upload.cancel()

    def _handle_end(self, error: Exception | None) -> None:
        self.lost = True
        if not self.ended and self.head and self.until_close and error is None:
            self.ended = True
        if not self.ended:
            self.fail(
                ConnectionBroken(str(error) or type(error).__name__ if error else "it closed the connection")
            )
        self._wake()

    def pause_writing(self) -> None:
        self._writing = False

    def resume_writing(self) -> None:
        self._writing = True
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)
