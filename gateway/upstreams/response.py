"""The response of an upstream: its head, and the bytes of its body exactly as they arrive."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

import msgspec

from crosswind.gateway.errors import UpstreamAttempt, UpstreamError
from crosswind.gateway.http.headers import Headers
from crosswind.gateway.upstreams.connection import Connection
from crosswind.gateway.upstreams.response_head import KnownHead
from crosswind.gateway.upstreams.response_parser import ConnectionBroken

if TYPE_CHECKING:
    from crosswind.gateway.upstreams.pool import Pool


def _no_idle_limit() -> None:
    return None


class UpstreamResponse(msgspec.Struct):
    """A response whose head has arrived. The caller must close it."""

    status: int
    _headers: Headers
    head: KnownHead | None
    """The head, where it is like an earlier one."""
    streams: bool
    """It is a stream of events."""
    encoding: str
    """The encoding of its body, or an empty string."""
    parts: Sequence[bytes]
    """What arrived of the body and wasn't taken."""
    attempts: tuple[UpstreamAttempt, ...]
    """The failed attempts before this response."""
    replica: str
    """The base URL of the replica that sent it."""
    _connection: Connection
    _pool: Pool
    _until: float
    """The deadline for the whole response, on the loop's clock."""
    _on_failure: Callable[[str], None]
    """Called with a code if the body stalls or breaks off."""
    _open: bool = True
    _first: Mapping[bytes, bytes] | None = None
    """The headers by name in lower case; the first of equal names counts."""

    @property
    def headers(self) -> Headers:
        return self._headers if self.head is None else self.head.headers

    def set_headers(self, headers: Headers) -> None:
        self._headers, self.head, self._first = headers, None, None

    def header(self, name: str) -> str:
        """The first value of a header, or an empty string."""
        if self._first is None:
            self._first = {given.lower(): value for given, value in reversed(self.headers)}
        value = self._first.get(name.encode())
        return "" if value is None else value.decode("latin-1")

    async def chunks(self, idle_s: Callable[[], float | None] = _no_idle_limit) -> AsyncGenerator[bytes]:
        """Yield the body as it arrives, still encoded. Raises UpstreamError if it stalls or breaks off.

        `idle_s` is called before each wait: an empty chunk is yielded after that many seconds without data.
        """
        while True:
            idle = idle_s()
            try:
                chunk = await self._next_chunk(idle)
            except TimeoutError:
                if idle is not None:
                    idle_s = _no_idle_limit
                    yield b""
                    continue
                raise self._report_stall() from None
            if not chunk:
                return
            yield chunk

    @property
    def complete(self) -> bool:
        """Whether the whole body has arrived and was taken."""
        return self._connection.ended and not self._connection.parts

    async def pour(self, take: Callable[[bytes], bool]) -> bool:
        """Call `take` with the body as it arrives, still encoded, until it returns False or the body is
        `complete`; return whether it is. `take` runs in the transport's callback, so it must be quick; its
        exceptions propagate. Raises UpstreamError if the body stalls or breaks off.
        """
        connection = self._connection
        try:
            if not (chunk := connection.take_received()) or take(chunk):
                if not connection.ended:
                    await connection.pour(take, self._pool.timeouts.between_chunks, self._until)
                if connection.failure is not None and not connection.parts and not connection.ended:
                    raise connection.failure
        except TimeoutError:
            raise self._report_stall() from None
        except ConnectionBroken:
            raise self._report_cut() from None
        return connection.ended and not connection.parts

    async def _next_chunk(self, idle_s: float | None) -> bytes:
        """The bytes that have arrived, or the next ones; empty at the end."""
        connection = self._connection
        try:
            if (chunk := connection.take_received()) or connection.ended:
                return chunk
            wait_s = self._pool.timeouts.between_chunks if idle_s is None else idle_s
            return await connection.wait_for_body(
                min(asyncio.get_running_loop().time() + wait_s, self._until)
            )
        except ConnectionBroken:
            raise self._report_cut() from None

    def _report_cut(self) -> UpstreamError:
        self._on_failure("upstream_cut")
        return UpstreamError(502, "the upstream broke off its answer before its end", "upstream_cut")

    def _report_stall(self) -> UpstreamError:
        self._on_failure("upstream_stalled")
        if asyncio.get_running_loop().time() >= self._until:
            message = f"the upstream took longer than {self._pool.timeouts.total:g} s (timeouts.total)"
        else:
            waited = self._pool.timeouts.between_chunks
            message = f"the upstream sent nothing for {waited:g} s (timeouts.between_chunks)"
        return UpstreamError(504, message, "upstream_stalled")

    def take_whole(self) -> bytes | None:
        """The whole body, still encoded, if all of it is here, as it usually is with the head."""
        return self._connection.take_received() if self._connection.ended else None

    async def read_up_to(self, limit: int) -> bytes:
        """Read the body, still encoded, and stop once more than `limit` bytes have arrived."""
        if (whole := self.take_whole()) is not None:
            return whole
        parts, size = [], 0
        async with aclosing(self.chunks()) as chunks:
            async for chunk in chunks:
                parts.append(chunk)
                size += len(chunk)
                if size > limit:
                    break
        return b"".join(parts)

    async def read_all(self, limit: int) -> bytes:
        """Read the whole body, still encoded. Raises UpstreamError if it has more than `limit` bytes."""
        body = await self.read_up_to(limit)
        if len(body) > limit:
            raise UpstreamError(
                502,
                f"the upstream's answer is larger than {limit} bytes; raise limits.answer",
                "upstream_too_large",
            )
        return body

    def close(self) -> None:
        """Give the connection back. The pool keeps it only if the response was read to its end."""
        if self._open:
            self._open = False
            self._pool.take_back(self.replica, self._connection)
