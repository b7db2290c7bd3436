"""An upstream's answer: its head, and its body's bytes exactly as they arrive."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

import msgspec

from crosswind.gateway.config.sections import Timeouts
from crosswind.gateway.errors import Attempt, UpstreamError
from crosswind.gateway.http.headers import Headers
from crosswind.gateway.upstreams.connection import Connection
from crosswind.gateway.upstreams.incoming import ConnectionBroken


def _no_idle_limit() -> None:
    return None


class UpstreamResponse(msgspec.Struct):
    """An answer whose head has come. It must be closed."""

    status: int
    headers: Headers
    attempts: tuple[Attempt, ...]
    """The attempts that failed before it."""
    replica: str
    """The base URL of the replica that gave it."""
    _connection: Connection
    _timeouts: Timeouts
    _until: float
    """When it must be complete, on the loop's clock."""
    _broken: Callable[[str], None]
    """Told when the body stalls or breaks off."""
    _closed: Callable[[Connection], None]
    """Takes the connection back, once."""
    _open: bool = True

    def header(self, name: str) -> str:
        """The first value of a header, empty where there is none."""
        wanted = name.encode()
        for given, value in self.headers:
            if given.lower() == wanted:
                return value.decode("latin-1")
        return ""

    async def chunks(self, idle_s: Callable[[], float | None] = _no_idle_limit) -> AsyncGenerator[bytes]:
        """The body as it arrives, still encoded. UpstreamError where it stalls or breaks off.

        `idle_s` is asked before each wait: after that many seconds with nothing an empty chunk is given.
        """
        while True:
            idle = idle_s()
            try:
                chunk = await self._next(idle)
            except TimeoutError:
                if idle is not None:
                    idle_s = _no_idle_limit
                    yield b""
                    continue
                raise self._stalled() from None
            if not chunk:
                return
            yield chunk

    @property
    def complete(self) -> bool:
        """Whether the body has come to its end and was taken whole."""
        return self._connection.ended and not self._connection.parts

    @property
    def arrived(self) -> bool:
        """Whether some of the body is there already."""
        return bool(self._connection.parts)

    async def pour(self, take: Callable[[bytes], bool]) -> None:
        """Have `take` called with the body as it arrives, still encoded, until it gives False or the body is
        `complete`. It is called where the bytes come in, so it mustn't do much; what it raises is raised.
        UpstreamError where the body stalls or breaks off.
        """
        connection = self._connection
        try:
            if ((chunk := connection.received()) and not take(chunk)) or connection.ended:
                return
            await connection.poured(take, self._timeouts.between_chunks, self._until)
            if connection.failure is not None and not connection.parts and not connection.ended:
                raise connection.failure
        except TimeoutError:
            raise self._stalled() from None
        except ConnectionBroken:
            raise self._cut() from None

    async def _next(self, idle_s: float | None) -> bytes:
        """What has come, or what comes next; empty at the end. What is there needs no clock."""
        connection = self._connection
        try:
            if (chunk := connection.received()) or connection.ended:
                return chunk
            wait_s = self._timeouts.between_chunks if idle_s is None else idle_s
            return await connection.more(min(asyncio.get_running_loop().time() + wait_s, self._until))
        except ConnectionBroken:
            raise self._cut() from None

    def _cut(self) -> UpstreamError:
        self._broken("upstream_cut")
        return UpstreamError(502, "the upstream broke off its answer before its end", "upstream_cut")

    def _stalled(self) -> UpstreamError:
        self._broken("upstream_stalled")
        if asyncio.get_running_loop().time() >= self._until:
            message = f"the upstream took longer than {self._timeouts.total:g} s (timeouts.total)"
        else:
            message = (
                f"the upstream sent nothing for {self._timeouts.between_chunks:g} s (timeouts.between_chunks)"
            )
        return UpstreamError(504, message, "upstream_stalled")

    async def upto(self, limit: int) -> bytes:
        """The whole body, still encoded; of one that is larger than the limit, in bytes, its beginning, which
        is larger than that too.
        """
        if self._connection.ended:
            # Mostly it came with its head.
            return self._connection.received()
        parts, size = [], 0
        async with aclosing(self.chunks()) as chunks:
            async for chunk in chunks:
                parts.append(chunk)
                size += len(chunk)
                if size > limit:
                    break
        return b"".join(parts)

    async def body(self, limit: int) -> bytes:
        """The whole body, still encoded. UpstreamError where it is larger than the limit, in bytes."""
        body = await self.upto(limit)
        if len(body) > limit:
            raise UpstreamError(
                502,
                f"the upstream's answer is larger than {limit} bytes; raise limits.answer",
                "upstream_too_large",
            )
        return body

    def close(self) -> None:
        """Give the connection back if the answer was read to its end, else cut it, so that the upstream
        stops.
        """
        if self._open:
            self._open = False
            self._closed(self._connection)
