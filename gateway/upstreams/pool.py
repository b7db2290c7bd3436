"""Pooled connections to one upstream's replicas: one request, its answer's head. Every failure is named."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from crosswind.gateway.config.sections import Limits, Timeouts
from crosswind.gateway.errors import UpstreamError
from crosswind.gateway.upstreams.address import Address, load_certificates
from crosswind.gateway.upstreams.answer import UpstreamResponse
from crosswind.gateway.upstreams.connection import Connection
from crosswind.gateway.upstreams.incoming import ConnectionBroken
from crosswind.gateway.upstreams.request import UpstreamRequest

_STATUSES = range(200, 600)


class Pool:
    """Connections to all replicas of an upstream, at most `limits.connections` at a time."""

    def __init__(self, bases: Iterable[str], timeouts: Timeouts, limits: Limits) -> None:
        bases = tuple(bases)
        load_certificates(bases)
        self.timeouts = timeouts
        self._limits = limits
        self._addresses = {base: Address.of(base) for base in bases}
        self._kept: dict[str, list[Connection]] = {base: [] for base in bases}
        """Connections that are at rest, the one that was used last at the end."""
        self._sweeping: asyncio.TimerHandle | None = None
        self._free = asyncio.Semaphore(limits.connections)
        self.in_flight = 0
        self._idle: asyncio.Event | None = None

    async def send(self, base: str, outgoing: UpstreamRequest, broken: Callable[[str], None]) -> UpstreamResponse:
        """Send a request to a replica and wait for its answer's head. `broken` is told the code of a failure
        that comes later.

        UpstreamError 502 where it can't be reached or breaks the connection, 504 where it is too slow.
        """
        await self.enter(base)
        try:
            now = asyncio.get_running_loop().time()
            until = now + self.timeouts.total
            connection = await self._answered(base, outgoing, now, until)
            status = connection.status
            if status not in _STATUSES:
                connection.cut()
                raise UpstreamError(
                    502,
                    f"the upstream {base} answered with status {status}, which HTTP doesn't have",
                    "upstream_broken",
                )
        except BaseException:
            self.leave()
            raise

        def closed(connection: Connection) -> None:
            self._take_back(base, connection)
            self.leave()

        return UpstreamResponse(status, connection.headers, (), base, connection, self.timeouts, until, broken, closed)

    async def _answered(self, base: str, outgoing: UpstreamRequest, now: float, until: float) -> Connection:
        """A connection on which the answer's head has come."""
        address = self._addresses[base]
        head = outgoing.head(address)
        first_byte = min(now + self.timeouts.first_byte, until)
        connection = self._at_rest(base, now)
        while True:
            fresh = connection is None
            connection = connection or await self._connected(base, address, first_byte)
            try:
                self._write(connection, outgoing, head)
                await connection.answered(first_byte)
                return connection
            except TimeoutError:
                connection.cut()
                late = asyncio.get_running_loop().time() >= until
                raise self._too_slow(base, "total" if late else "first_byte") from None
            except ConnectionBroken as error:
                connection.cut()
                if fresh or connection.began or not outgoing.idempotent:
                    raise UpstreamError(
                        502, f"the upstream {base} broke the connection: {error}", "upstream_broken"
                    ) from None
                # The server had closed it meanwhile.
                connection = None
            except BaseException:
                connection.cut()
                raise

    @staticmethod
    def _write(connection: Connection, outgoing: UpstreamRequest, head: bytes) -> None:
        head_only, body = outgoing.method == "HEAD", outgoing.body
        if callable(body):
            connection.upload(head, body(), chunked=outgoing.chunked, head_only=head_only)
        else:
            connection.send(head, body or b"", head_only=head_only)

    async def _connected(self, base: str, address: Address, first_byte: float) -> Connection:
        until = asyncio.get_running_loop().time() + self.timeouts.connect
        try:
            async with asyncio.timeout_at(min(until, first_byte)):
                return await address.connect(self._limits.header)
        except TimeoutError:
            if first_byte < until:
                raise self._too_slow(base, "first_byte") from None
            raise UpstreamError(
                504,
                f"no connection to the upstream {base} within {self.timeouts.connect:g} s (timeouts.connect)",
                "upstream_connect_timeout",
                unprocessed=True,
            ) from None
        except OSError as error:
            raise UpstreamError(
                502,
                f"the upstream {base} can't be reached: {said(error)}; start it, or mend its address",
                "upstream_unreachable",
                unprocessed=True,
            ) from None

    def _too_slow(self, base: str, name: str) -> UpstreamError:
        return UpstreamError(
            504,
            f"the upstream {base} gave no answer within {getattr(self.timeouts, name):g} s (timeouts.{name})",
            "upstream_timeout",
        )

    # Connections at rest

    def _at_rest(self, base: str, now: float) -> Connection | None:
        """A connection that was used before, the one that was used last."""
        kept = self._kept[base]
        while kept:
            connection = kept.pop()
            if not connection.lost and now - connection.since < self.timeouts.idle:
                return connection
            connection.cut()
        return None

    def _take_back(self, base: str, connection: Connection) -> None:
        if not connection.reusable:
            return connection.cut()
        connection.rest()
        self._kept[base].append(connection)
        if self._sweeping is None:
            self._sweep_later()

    def _sweep_later(self) -> None:
        self._sweeping = asyncio.get_running_loop().call_later(self.timeouts.idle, self._sweep)

    def _sweep(self) -> None:
        """Close what was at rest for too long, and what its server has closed."""
        now = asyncio.get_running_loop().time()
        for base, kept in self._kept.items():
            fit = [one for one in kept if not one.lost and now - one.since < self.timeouts.idle]
            for one in kept:
                if one not in fit:
                    one.cut()
            self._kept[base] = fit
        self._sweeping = None
        if any(self._kept.values()):
            self._sweep_later()

    # How many are in use

    async def enter(self, base: str) -> None:
        """Take the place of a connection. UpstreamError 504 where all are taken for too long."""
        if self._free.locked():
            try:
                async with asyncio.timeout(self.timeouts.pool_wait):
                    await self._free.acquire()
            except TimeoutError:
                raise UpstreamError(
                    504,
                    f"all {self._limits.connections} connections to the upstream {base} were in use for "
                    f"{self.timeouts.pool_wait:g} s (limits.connections, timeouts.pool_wait)",
                    "upstream_pool_wait",
                ) from None
        else:
            await self._free.acquire()
        self.in_flight += 1

    def leave(self) -> None:
        """Give it back."""
        self._free.release()
        self.in_flight -= 1
        if self.in_flight == 0 and self._idle is not None:
            self._idle.set()

    async def close(self, *, drain: bool = False) -> None:
        """Close all connections; with `drain` once what is in flight has ended."""
        try:
            if drain and self.in_flight:
                self._idle = asyncio.Event()
                await self._idle.wait()
        finally:
            if self._sweeping is not None:
                self._sweeping.cancel()
            for kept in self._kept.values():
                for connection in kept:
                    connection.cut()
                kept.clear()


def first_line(error: BaseException) -> str:
    """An error's first line."""
    return (str(error) or type(error).__name__).splitlines()[0]
