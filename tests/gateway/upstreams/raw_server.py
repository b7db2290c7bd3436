"""A server of raw bytes for tests of the upstreams' client, and requests to it."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from crosswind.gateway.config.sections import Limits, Timeouts
from crosswind.gateway.upstreams.pool import Pool
from crosswind.gateway.upstreams.request import Body, UpstreamRequest
from crosswind.gateway.upstreams.response import UpstreamResponse

Talk = Callable[["Server", asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
PLENTY = 1 << 30
"""A limit, in bytes, larger than any body."""
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


@dataclass
class Server:
    """A scripted server and what it received."""

    url: str = ""
    heads: list[bytes] = field(default_factory=list)
    connections: int = 0
    gone: asyncio.Event = field(default_factory=asyncio.Event)

    async def request(self, reader: asyncio.StreamReader) -> bytes:
        """Read a request's head and the body that it announces."""
        head = await reader.readuntil(b"\r\n\r\n")
        self.heads.append(head)
        for line in head.split(b"\r\n"):
            if line.lower().startswith(b"content-length:"):
                return await reader.readexactly(int(line[15:]))
        return b""


@asynccontextmanager
async def serve(talk: Talk, tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    server = Server()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.connections += 1
        try:
            await talk(server, reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            server.gone.set()
        finally:
            writer.close()

    listening = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=tls)
    async with listening:
        scheme, name = ("http", "127.0.0.1") if tls is None else ("https", "localhost")
        server.url = f"{scheme}://{name}:{listening.sockets[0].getsockname()[1]}/v1"
        yield server


@asynccontextmanager
async def open_pool(server: Server, **limits: int) -> AsyncIterator[Pool]:
    pool = Pool([server.url], Timeouts(), Limits(**limits))
    try:
        yield pool
    finally:
        await pool.close()


async def send_request(
    pool: Pool, server: Server, method: str = "POST", body: Body = b"{}", told: list[str] | None = None
) -> UpstreamResponse:
    broken = (lambda code: None) if told is None else told.append
    return await pool.send(server.url, UpstreamRequest(method, "/x?y=1", [(b"a", b"b")], body), broken)


async def fetch(pool: Pool, server: Server, method: str = "POST", body: Body = b"{}") -> tuple[int, bytes]:
    answer = await send_request(pool, server, method, body)
    try:
        return answer.status, await answer.read_all(PLENTY)
    finally:
        answer.close()


def reply_with(*answers: bytes, close: bool = False) -> Talk:
    """Send one answer per request of a connection, then hang up if `close`."""

    async def talk(server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for answer in answers:
            await server.request(reader)
            writer.write(answer)
            await writer.drain()
        if not close:
            await server.request(reader)

    return talk
