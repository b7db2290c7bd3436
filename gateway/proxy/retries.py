"""Plain calls that outlive their client's connection, so that a retry joins the call in flight.

SDKs close the connection and then send the same request again. For sessions that train, the upstream call is
kept for a while after its client has gone; a marked retry of an equal body gets its answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from crosswind.gateway.errors import UpstreamError
from crosswind.gateway.http.asgi import ClientGone, Http
from crosswind.gateway.http.headers import Headers
from crosswind.gateway.proxy.client_link import Outlet

_NOT_HELD = "the upstream's answer is larger than limits.answer, so that it is not held for a retry"
Key = tuple[str, bytes]
"""A session, and the digest of a body."""


class Flight:
    """One call in flight, and its answer once it is there. It is the outlet of the call."""

    def __init__(self, late: Callable[[], None]) -> None:
        self.late = late
        """To be called when a client gets the answer whose first one had gone."""
        self.started = False
        self.clients: list[Http] = []
        """Who waits for the answer."""
        self.passed_on: Http | None = None
        """The one client that gets it, where it is too large to be held."""
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
        """Whether there is no good answer for who comes now."""
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

    def bare(self) -> Http:
        if not self.clients:
            raise UpstreamError(502, _NOT_HELD, "upstream_too_large")
        self.passed_on = self.clients[0]
        return self.passed_on

    async def deliver(self, http: Http) -> None:
        """Send the answer to a client. UpstreamError where it went to another one, and was too large to be
        held.
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


class Flights:
    """The calls in flight. `grace_s`: how long one is kept once its clients are gone."""

    def __init__(self, grace_s: float) -> None:
        self.grace_s = grace_s
        self._flights: dict[Key, Flight] = {}

    def joinable(self, key: Key) -> Flight | None:
        """The call that a marked retry may join. One that failed has nothing for it: it asks anew."""
        flight = self._flights.get(key)
        return None if flight is None or flight.failed else flight

    async def fly(
        self,
        key: Key,
        http: Http,
        call: Callable[[Outlet], Coroutine[Any, Any, int]],
        late: Callable[[], None],
    ) -> int:
        """Make a call that a retry may join, and deliver its answer; gives its status."""
        flight = Flight(late)
        flight.task = asyncio.create_task(call(flight))
        self._flights[key] = flight
        return await self.join(key, flight, http)

    async def join(self, key: Key, flight: Flight, http: Http) -> int:
        """Wait for a call's answer and deliver it."""
        assert flight.task is not None, "a flight has its task before anyone waits for it"
        flight.clients.append(http)
        late = flight.task.done()
        if flight.grace is not None:
            flight.grace.cancel()
        try:
            status = await asyncio.shield(flight.task)
            await flight.deliver(http)
            if late:
                flight.late()
        except asyncio.CancelledError:
            if not http.gone:
                raise
            raise ClientGone from None
        finally:
            flight.clients.remove(http)
            if not flight.clients:
                self._left(key, flight, delivered=http.complete and not http.gone)
        return status

    def _left(self, key: Key, flight: Flight, *, delivered: bool) -> None:
        """Nobody waits any more: a call whose answer nobody got is kept for the grace."""
        if delivered:
            self._forget(key, flight)
        else:
            loop = asyncio.get_running_loop()
            flight.grace = loop.call_later(self.grace_s, self._forget, key, flight)

    def _forget(self, key: Key, flight: Flight) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]
        if flight.task is not None:
            flight.task.cancel()

    async def close(self) -> None:
        """Cancel what is in flight."""
        flights = list(self._flights.items())
        for key, flight in flights:
            if flight.grace is not None:
                flight.grace.cancel()
            self._forget(key, flight)
        await asyncio.gather(*(one.task for _, one in flights if one.task), return_exceptions=True)
