"""An upstream's answer: its head, and its body's bytes exactly as they arrive."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import aiohttp

from gateway.errors import Attempt, UpstreamError
from gateway.headers import Headers


def _patient() -> None:
    return None


@dataclass(frozen=True, slots=True)
class Patience:
    """How long an answer may take, in seconds; `until` is when it must be complete, on the loop's clock."""

    between_chunks: float
    total: float
    until: float


@dataclass(slots=True)
class Answer:
    """An answer whose head has come. It must be closed."""

    status: int
    headers: Headers
    attempts: tuple[Attempt, ...]
    """The attempts that failed before it."""
    _response: aiohttp.ClientResponse
    _patience: Patience
    _broken: Callable[[str], None]
    """Told when the body stalls or breaks off."""
    _closed: Callable[[], None]

    def header(self, name: str) -> str:
        """The first value of a header, empty where there is none."""
        return self._response.headers.get(name, "")

    async def chunks(self, idle_s: Callable[[], float | None] = _patient) -> AsyncIterator[bytes]:
        """The body as it arrives, still encoded. UpstreamError where it stalls or breaks off.

        `idle_s` is asked before each wait: after that many seconds with nothing an empty chunk is given.
        """
        while True:
            idle = idle_s()
            try:
                chunk = await self._next(self._patience.between_chunks if idle is None else idle)
            except TimeoutError:
                if idle is not None:
                    idle_s = _patient
                    yield b""
                    continue
                raise self._stalled() from None
            except (aiohttp.ClientError, OSError):
                self._broken("upstream_cut")
                raise UpstreamError(
                    502, "the upstream broke off its answer before its end", "upstream_cut"
                ) from None
            if not chunk:
                return
            yield chunk

    async def _next(self, wait_s: float) -> bytes:
        """What has come, or what comes next; empty at the end. Reading what is there needs no timer."""
        stream = self._response.content
        if chunk := stream.read_nowait():
            return chunk
        if stream.at_eof():
            return b""
        async with asyncio.timeout(wait_s):
            return await stream.readany()

    def _stalled(self) -> UpstreamError:
        self._broken("upstream_stalled")
        if asyncio.get_running_loop().time() >= self._patience.until:
            message = f"the upstream took longer than {self._patience.total:g} s (timeouts.total)"
        else:
            message = (
                f"the upstream sent nothing for {self._patience.between_chunks:g} s (timeouts.between_chunks)"
            )
        return UpstreamError(504, message, "upstream_stalled")

    async def body(self) -> bytes:
        """The whole body, still encoded."""
        return b"".join([chunk async for chunk in self.chunks()])

    def close(self) -> None:
        """Give the connection back if the answer was read to its end, else cut it, so that the upstream
        stops.
        """
        if self._response.content.at_eof():
            self._response.release()
        else:
            self._response.close()
        self._closed()


def said(error: BaseException) -> str:
    """An error's first line."""
    return (str(error) or type(error).__name__).splitlines()[0]
