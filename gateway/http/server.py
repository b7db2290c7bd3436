"""Serve the data plane on a socket: start, stop and drain."""

from __future__ import annotations

import asyncio
import resource
import socket
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Protocol

import structlog

from crosswind.gateway.http.connection import ClientConnection, Handler
from crosswind.gateway.http.connection_table import CUT_S, ConnectionTable

_log = structlog.get_logger("crosswind.gateway")

BACKLOG = 2048
"""How many connections the system keeps that nobody has accepted yet."""


class Server(Protocol):
    """Either plane's server."""

    table: ConnectionTable
    up: asyncio.Event

    @property
    def stopping(self) -> bool:
        """Whether it takes no more requests."""

    @property
    def in_flight(self) -> int:
        """How many requests are being served."""

    async def run(self, listener: socket.socket) -> None:
        """Serve until `stop`, then until the requests in flight have ended or `timeouts.drain` is over."""

    def stop(self) -> None:
        """Take no more requests, and let those in flight end; on a second call, cut them."""


class HttpServer:
    """The data plane's server: each request goes to `handle`."""

    def __init__(self, table: ConnectionTable, handle: Handler) -> None:
        self.table = table
        self.up = asyncio.Event()
        self._handle = handle
        self._stopped = asyncio.Event()
        self._cut = asyncio.Event()
        self._acceptor: asyncio.Server | None = None
        self._listener: socket.socket | None = None
        self._connecting: set[asyncio.Task[None]] = set()

    @property
    def stopping(self) -> bool:
        return self._stopped.is_set()

    @property
    def in_flight(self) -> int:
        return sum(connection.serving for connection in self.table.open)

    def stop(self) -> None:
        """Take no more requests, and let those in flight end; on a second call, cut them."""
        (self._cut if self._stopped.is_set() else self._stopped).set()

    async def run(self, listener: socket.socket) -> None:
        """Serve until `stop`, then until the requests in flight have ended or `timeouts.drain` is over."""
        await self.start(listener)
        await self._stopped.wait()
        await self.close()

    async def start(self, listener: socket.socket) -> None:
        """Accept connections."""
        self._listener = listener
        # A copy, so that connections that wait can still be accepted when the loop has closed its own.
        self._acceptor = await asyncio.get_running_loop().create_server(
            self.make_connection, sock=listener.dup(), backlog=BACKLOG
        )
        self.table.start()
        self.up.set()

    def make_connection(self, begun: bytes = b"", *, stays: bool = False) -> ClientConnection:
        return ClientConnection(self.table, self._handle, begun=begun, stays=stays)

    async def close(self) -> None:
        """Accept those who wait, and no more; let all requests end, or cut them."""
        self.table.draining = True
        self.accept_last()
        await asyncio.gather(*self._connecting, return_exceptions=True)
        await self.table.drain()
        cut = asyncio.create_task(self._cut.wait())
        empty = asyncio.create_task(self.table.wait_until_empty())
        await asyncio.wait(
            (cut, empty), timeout=self.table.timeouts.drain, return_when=asyncio.FIRST_COMPLETED
        )
        for connection in tuple(self.table.open):
            connection.cancel()
        with suppress(TimeoutError):
            await asyncio.wait_for(empty, CUT_S)
        cut.cancel()
        for connection in tuple(self.table.open):
            connection.abort()
        await self.table.stop()

    def accept_last(self) -> None:
        """Accept the connections that wait to be, then close the listener: they would be reset with it."""
        if self._acceptor is not None:
            self._acceptor.close()
        if self._listener is None:
            return
        with suppress(OSError):
            while True:
                self.connect(self._listener.accept()[0])
        self._listener.close()

    def connect(self, connection: socket.socket, begun: bytes = b"", *, stays: bool = False) -> None:
        """Serve a connection that was accepted elsewhere. `begun`: what was read of it there. `stays`: its
        request isn't handed on.
        """
        make = partial(self.make_connection, begun, stays=stays)
        connecting = asyncio.get_running_loop().create_task(self._connect(connection, make))
        self._connecting.add(connecting)
        connecting.add_done_callback(self._connecting.discard)

    async def _connect(self, connection: socket.socket, make: Callable[[], ClientConnection]) -> None:
        connection.setblocking(False)
        try:
            loop = asyncio.get_running_loop()
            await loop.connect_accepted_socket(make, connection)
        except OSError as error:
            _log.debug("a connection was gone before it was taken", error=str(error))
            connection.close()


async def serve_on(servers: Sequence[Server], listeners: Iterable[socket.socket]) -> None:
    """Serve until `stop`, then until the requests in flight have ended or `timeouts.drain` is over."""
    await asyncio.gather(*(server.run(listener) for server, listener in zip(servers, listeners, strict=True)))


def stop(servers: Sequence[Server]) -> None:
    """Stop taking requests and let those in flight end; on a second call, cut them."""
    if in_flight := sum(server.in_flight for server in servers):
        if all(server.stopping for server in servers):
            _log.warning("requests in flight are cut", in_flight=in_flight)
        else:
            _log.warning(
                "stopping when the requests in flight have ended; a second signal cuts them",
                in_flight=in_flight,
                at_most_s=servers[0].table.timeouts.drain,
            )
    for server in servers:
        server.stop()


def allow_many_connections() -> None:
    """Raise the soft limit of open files to the hard one: each stream needs two."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (OSError, ValueError):
            return  # macOS reports no hard limit and refuses it: keep the soft one
