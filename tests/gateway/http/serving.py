"""A data plane's server with a handler of the test's own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from crosswind.gateway.config.sections import Limits, Timeouts
from crosswind.gateway.http.connection import Handler
from crosswind.gateway.http.connection_table import ConnectionTable, Plane
from crosswind.gateway.http.memory_budget import MemoryBudget
from crosswind.gateway.http.request import HttpRequest
from crosswind.gateway.http.server import HttpServer
from crosswind.loopback_server import listen

Answer = Callable[[HttpRequest], Awaitable[None]]
WAIT_S = 60.0
GET = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"


def table(plane: Plane = Plane.DATA, timeouts: Any = None, **limits: Any) -> ConnectionTable:
    """A table with these limits."""
    settings = Limits(**limits)
    return ConnectionTable(plane, settings, Timeouts(**(timeouts or {})), MemoryBudget(settings.bodies))


def handler(answer: Answer) -> Handler:
    async def handle(http: HttpRequest) -> None:
        await answer(http)

    return handle


def server_of(connections: ConnectionTable, answer: Answer) -> HttpServer:
    return HttpServer(connections, handler(answer))


@asynccontextmanager
async def served(
    answer: Answer, timeouts: Any = None, **limits: Any
) -> AsyncIterator[tuple[int, ConnectionTable]]:
    """A server that answers so, at a port; and its connections."""

    connections, listener = table(timeouts=timeouts, **limits), listen()
    server = server_of(connections, answer)
    await server.start(listener)
    try:
        yield listener.getsockname()[1], connections
    finally:
        await server.close()


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        async with asyncio.timeout(WAIT_S):
            yield reader, writer
    finally:
        writer.close()


async def said(port: int, *parts: bytes) -> bytes:
    """What comes for these bytes, until the server closes the connection."""
    async with connected(port) as (reader, writer):
        for part in parts:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(0)
        return await reader.read()


class Wire(asyncio.Transport):
    """A transport in memory: what was written, and whether it is closed."""

    def __init__(self) -> None:
        super().__init__({"peername": ("192.0.2.1", 1)})
        self.written = bytearray()
        self.closing = False
        self.reading = True

    def write(self, data: Any) -> None:
        self.written += data

    def close(self) -> None:
        self.closing = True

    abort = close

    def is_closing(self) -> bool:
        return self.closing

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        pass

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True
