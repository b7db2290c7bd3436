"""Plain calls that outlive their client's connection, so that a retry can join them.

SDKs close the connection and then send the same request again. For sessions that train, the upstream call is
kept for a while after its client has gone; a marked retry of an equal body gets its answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from crosswind.gateway.errors import UpstreamError
from crosswind.gateway.http.headers import Headers
from crosswind.gateway.http.request import ClientGone, HttpRequest
from crosswind.gateway.proxy.response_sink import ResponseSink

_NOT_HELD = "the upstream's answer is larger than limits.answer, so that it is not held for a retry"
Key = tuple[str, bytes]
"""A session, and the digest of a body."""


class SharedCall:
    """One call in flight, and the sink that keeps its answer."""

    def __init__(self, late: Callable[[], None]) -> None:
        self.late = late
        """Called when a retry gets the answer, after the first client had left."""
        self.started = False
        self.clients: list[HttpRequest] = []
        """The clients that wait for the answer."""
        self.passed_on: HttpRequest | None = None
        """The one client that gets an answer too large to be held."""
        self.task: asyncio.Task[int] | None = None
        self.grace: asyncio.TimerHandle | None = None
        self._status = 0
        self._headers: Headers = []
        self._body = b""
        self._cut = False
        self._reset = False

    @property
    def broken(self) -> bool:
        return self._cut or not self.clients

    @property
    def failed(self) -> bool:
        """Whether there is no good answer for a further client."""
        if self.passed_on is not None:
            return True
        if self.task is None or not self.task.done():
            return False
        return self.task.cancelled() or self.task.exception() is not None or self.task.result() >= 400

    async def start(self, status: int, headers: Headers, *, follows: bool = False) -> None:
        self.started, self._status, self._headers = True, status, headers

    def write(self, body: bytes) -> bool:
        self._body += body
        return True

    async def chunk(self, body: bytes) -> None:
        self._body += body

    async def end(self, body: bytes = b"") -> None:
        self._body += body

    async def answer(self, status: int, body: bytes, headers: Headers) -> None:
        await self.start(status, headers)
        self._body = body

    def cut(self, *, reset: bool = False) -> None:
        self._cut, self._reset = True, reset

    def bare(self) -> HttpRequest:
        if not self.clients:
            raise UpstreamError(502, _NOT_HELD, "upstream_too_large")
        self.passed_on = self.clients[0]
        return self.passed_on

    async def deliver(self, http: HttpRequest) -> None:
        """Send the answer to a client. UpstreamError where it was too large to be held, and another client
        got it.
        """
        if self.passed_on is http:
            return
        if self.passed_on is not None:
            raise UpstreamError(502, _NOT_HELD, "upstream_too_large")
        if self._cut and not self.started:
            return http.cut(reset=self._reset)
        if not self._cut:
            kept = [(name, value) for name, value in self._headers if name.lower() != b"content-length"]
            return await http.answer(self._status, self._body, kept)
        await http.start(self._status, self._headers)
        await http.chunk(self._body)
        http.cut(reset=self._reset)


class SharedCalls:
    """The calls in flight. `grace_s`: how long one is kept once its clients have left."""

    def __init__(self, grace_s: float) -> None:
        self.grace_s = grace_s
        self._calls: dict[Key, SharedCall] = {}

    def find(self, key: Key) -> SharedCall | None:
        """The call that a marked retry may join. One that failed has no answer: the retry goes upstream."""
        shared = self._calls.get(key)
        return None if shared is None or shared.failed else shared

    async def start(
        self,
        key: Key,
        http: HttpRequest,
        call: Callable[[ResponseSink], Coroutine[Any, Any, int]],
        late: Callable[[], None],
    ) -> int:
        """Make a call that a retry may join, and deliver its answer; gives its status."""
        shared = SharedCall(late)
        shared.task = asyncio.create_task(call(shared))
        self._calls[key] = shared
        return await self.join(key, shared, http)

    async def join(self, key: Key, shared: SharedCall, http: HttpRequest) -> int:
        assert shared.task is not None, "a call has its task before anyone waits for it"
        shared.clients.append(http)
        late = shared.task.done()
        if shared.grace is not None:
            shared.grace.cancel()
        try:
            status = await asyncio.shield(shared.task)
            await shared.deliver(http)
            if late:
                shared.late()
        except asyncio.CancelledError:
            if not http.gone:
                raise
            raise ClientGone from None
        finally:
            shared.clients.remove(http)
            if not shared.clients:
                self._keep_or_forget(key, shared, delivered=http.complete and not http.gone)
        return status

    def _keep_or_forget(self, key: Key, shared: SharedCall, *, delivered: bool) -> None:
        """No client waits any more: the call is kept for the grace period if none got its answer."""
        if delivered:
            self._forget(key, shared)
        else:
            loop = asyncio.get_running_loop()
            shared.grace = loop.call_later(self.grace_s, self._forget, key, shared)

    def _forget(self, key: Key, shared: SharedCall) -> None:
        if self._calls.get(key) is shared:
            del self._calls[key]
        if shared.task is not None:
            shared.task.cancel()

    async def close(self) -> None:
        calls = list(self._calls.items())
        for key, shared in calls:
            if shared.grace is not None:
                shared.grace.cancel()
            self._forget(key, shared)
        await asyncio.gather(*(one.task for _, one in calls if one.task), return_exceptions=True)
