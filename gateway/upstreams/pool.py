"""The connection pool of one upstream: send a request, wait for the response head, name every failure."""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import Callable, Iterable
from typing import Literal

from crosswind.gateway.config.sections import Limits, Timeouts
from crosswind.gateway.errors import UpstreamError
from crosswind.gateway.upstreams.address import Address, load_certificates
from crosswind.gateway.upstreams.connection import Connection
from crosswind.gateway.upstreams.request import UpstreamRequest
from crosswind.gateway.upstreams.response import UpstreamResponse
from crosswind.gateway.upstreams.response_head import describe_body
from crosswind.gateway.upstreams.response_parser import ConnectionBroken

_STATUSES = range(200, 600)


class Pool:
    """Connections to all replicas of an upstream, at most `limits.connections` at a time."""

    def __init__(
        self, bases: Iterable[str], timeouts: Timeouts, limits: Limits, *, guarded: bool = False
    ) -> None:
        """`guarded`: no connection is made to `internal_addresses`."""
        bases = tuple(bases)
        load_certificates(bases)
        self.timeouts = timeouts
        self._limits = limits
        self._addresses = {base: Address.from_base(base, guarded=guarded) for base in bases}
        self._idle_connections: dict[str, list[Connection]] = {base: [] for base in bases}
        """By replica; the most recently used connection is last."""
        self._loop: asyncio.AbstractEventLoop | None = None
        """Kept, since asking for it is a system call."""
        self._sweeping: asyncio.TimerHandle | None = None
        self._free = limits.connections
        self._waiting: deque[asyncio.Future[None]] = deque()
        """Those who wait for a free connection, in order."""
        self.in_flight = 0
        self._idle: asyncio.Event | None = None

    async def send(
        self, base: str, outgoing: UpstreamRequest, on_failure: Callable[[str], None]
    ) -> UpstreamResponse:
        """Send a request to a replica and wait for the response head. `on_failure` gets the code of a failure
        while the body is read.

        Raises UpstreamError: 502 if the replica can't be reached or breaks the connection, 504 if it is slow.
        """
        if self._free:
            self._free -= 1
            self.in_flight += 1
        else:
            await self.acquire(base)
        connection: Connection | None = None
        loop = self._loop = self._loop or asyncio.get_running_loop()
        try:
            now = loop.time()
            until = now + self.timeouts.total
            first_byte = min(now + self.timeouts.first_byte, until)
            address = self._addresses[base]
            head = outgoing.head(address)
            connection = self._take_idle(base, now)
            while True:
                fresh = connection is None
                connection = connection or await self._connect(base, address, first_byte)
                _write(connection, outgoing, head)
                while not connection.head and connection.failure is None:
                    await connection.wait(first_byte)
                if connection.failure is None or connection.head:
                    break
                # The server may have closed the idle connection before the request arrived.
                if fresh or connection.began or not outgoing.idempotent:
                    raise connection.failure
                connection.abort()
                connection = None
            if connection.status not in _STATUSES:
                raise make_status_error(base, connection.status)
        except BaseException as error:
            if connection is not None:
                connection.abort()
            self.release()
            if isinstance(error, TimeoutError):
                late = loop.time() >= until
                raise make_timeout_error(base, self.timeouts, "total" if late else "first_byte") from None
            if isinstance(error, ConnectionBroken):
                raise make_broken_error(base, error) from None
            raise
        return self._make_response(connection, base, until, on_failure)

    def _make_response(
        self, connection: Connection, base: str, until: float, on_failure: Callable[[str], None]
    ) -> UpstreamResponse:
        known, headers = connection.known, connection.headers
        if known is None:
            streams, encoding = describe_body(headers)
        else:
            streams, encoding = known.template.streams, known.template.encoding
        return UpstreamResponse(
            *(connection.status, headers, known, streams, encoding, connection.parts, (), base),
            *(connection, self, until, on_failure),
        )

    async def _connect(self, base: str, address: Address, first_byte: float) -> Connection:
        until = asyncio.get_running_loop().time() + self.timeouts.connect
        try:
            async with asyncio.timeout_at(min(until, first_byte)):
                return await address.connect(self._limits.header)
        except TimeoutError:
            if first_byte < until:
                raise make_timeout_error(base, self.timeouts, "first_byte") from None
            raise make_connect_timeout_error(base, self.timeouts) from None
        except OSError as error:
            raise make_unreachable_error(base, error) from None

    # Idle connections

    def _take_idle(self, base: str, now: float) -> Connection | None:
        """Take the most recently used connection that is still usable."""
        kept = self._idle_connections[base]
        while kept:
            connection = kept.pop()
            if not connection.lost and now - connection.idle_since < self.timeouts.idle:
                return connection
            connection.abort()
        return None

    def take_back(self, base: str, connection: Connection) -> None:
        """A response is over: keep its connection, if it can be used again."""
        if connection.rest():
            self._idle_connections[base].append(connection)
            if self._sweeping is None:
                self._sweep_later()
        else:
            connection.abort()
        self.release()

    def _sweep_later(self) -> None:
        self._sweeping = asyncio.get_running_loop().call_later(self.timeouts.idle, self._sweep)

    def _sweep(self) -> None:
        """Close connections that were idle for too long or that the server has closed."""
        now = asyncio.get_running_loop().time()
        for base, kept in self._idle_connections.items():
            usable = [one for one in kept if not one.lost and now - one.idle_since < self.timeouts.idle]
            for one in kept:
                if one not in usable:
                    one.abort()
            self._idle_connections[base] = usable
        self._sweeping = None
        if any(self._idle_connections.values()):
            self._sweep_later()

    # The limit on connections

    async def acquire(self, base: str) -> None:
        """Reserve a connection. Raises UpstreamError 504 if none becomes free in time."""
        if self._free:
            self._free -= 1
        else:
            await self._wait_for_release(base)
        self.in_flight += 1

    async def _wait_for_release(self, base: str) -> None:
        released = asyncio.get_running_loop().create_future()
        self._waiting.append(released)
        try:
            async with asyncio.timeout(self.timeouts.pool_wait):
                await released
        except BaseException as error:
            if released.cancelled():
                self._waiting.remove(released)
            else:
                self._pass_on()
            if not isinstance(error, TimeoutError):
                raise
            raise UpstreamError(
                504,
                f"all {self._limits.connections} connections to the upstream {base} were in use for "
                f"{self.timeouts.pool_wait:g} s (limits.connections, timeouts.pool_wait)",
                "upstream_pool_wait",
            ) from None

    def release(self) -> None:
        """A connection is free."""
        if self._waiting:
            self._pass_on()
        else:
            self._free += 1
        self.in_flight -= 1
        if self.in_flight == 0 and self._idle is not None:
            self._idle.set()

    def _pass_on(self) -> None:
        """Give a free connection to who has waited longest."""
        for waiting in self._waiting:
            if not waiting.done():
                self._waiting.remove(waiting)
                return waiting.set_result(None)
        self._free += 1

    async def close(self, *, drain: bool = False) -> None:
        """Close all connections; with `drain`, after the requests in flight have ended."""
        try:
            if drain and self.in_flight:
                self._idle = asyncio.Event()
                await self._idle.wait()
        finally:
            if self._sweeping is not None:
                self._sweeping.cancel()
            for kept in self._idle_connections.values():
                for connection in kept:
                    connection.abort()
                kept.clear()


def _write(connection: Connection, outgoing: UpstreamRequest, head: bytes) -> None:
    head_only, body = outgoing.method == "HEAD", outgoing.body
    if callable(body):
        connection.upload(head, body(), chunked=outgoing.chunked, head_only=head_only)
    else:
        connection.send(head, body or b"", head_only=head_only)


def make_status_error(base: str, status: int) -> UpstreamError:
    return UpstreamError(
        502,
        f"the upstream {base} answered with status {status}, which HTTP doesn't have",
        "upstream_broken",
    )


def make_timeout_error(base: str, timeouts: Timeouts, name: Literal["first_byte", "total"]) -> UpstreamError:
    return UpstreamError(
        504,
        f"the upstream {base} gave no answer within {getattr(timeouts, name):g} s (timeouts.{name})",
        "upstream_timeout",
    )


def make_broken_error(base: str, error: Exception) -> UpstreamError:
    return UpstreamError(
        502, f"the upstream {base} broke the connection: {_get_first_line(error)}", "upstream_broken"
    )


def make_connect_timeout_error(base: str, timeouts: Timeouts) -> UpstreamError:
    return UpstreamError(
        504,
        f"no connection to the upstream {base} within {timeouts.connect:g} s (timeouts.connect)",
        "upstream_connect_timeout",
        unprocessed=True,
    )


def make_unreachable_error(base: str, error: BaseException) -> UpstreamError:
    problem, fix = _get_first_line(error), "start it, or correct its address"
    if isinstance(error, ssl.SSLCertVerificationError):
        problem = f"its certificate isn't trusted: {error.verify_message}"
        fix = (
            "where its authority is your own, start the gateway with SSL_CERT_FILE naming the authority's "
            "certificate; otherwise renew the certificate, or correct the address"
        )
    return UpstreamError(
        502,
        f"the upstream {base} can't be reached: {problem}; {fix}",
        "upstream_unreachable",
        unprocessed=True,
    )


def _get_first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
