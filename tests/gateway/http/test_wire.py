"""Answers that are written to the connection are those that messages of ASGI would have made."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from crosswind.gateway.http.asgi import Http
from crosswind.gateway.http.server import make_server
from crosswind.testing.server import listen, run_server
from tests.gateway.servers import settings

Answer = Callable[[Http], Awaitable[None]]
WAIT_S = 60.0
PLAIN = [(b"Content-Type", b"text/plain")]


class Messages(Http):
    """Gives the server the answer in ASGI's messages."""

    def __init__(self, scope: Any, receive: Any, send: Any) -> None:
        super().__init__(scope, receive, send)
        self.send = send

    async def start(self, status: int, headers: Any, *, follows: bool = False) -> None:
        await self.send({"type": "http.response.start", "status": status, "headers": headers})

    async def chunk(self, body: bytes) -> None:
        await self.send({"type": "http.response.body", "body": body, "more_body": True})

    async def end(self, body: bytes = b"") -> None:
        await self.send({"type": "http.response.body", "body": body})


@asynccontextmanager
async def served(tmp_path: Path, answer: Answer, *, wired: bool = True) -> AsyncIterator[int]:
    """A server that answers so, at a port."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        http = (Http if wired else Messages)(scope, receive, send)
        await http.body(1 << 20)
        await answer(http)

    server = make_server(settings(tmp_path, "http://127.0.0.1:1"), app)
    async with run_server(server, listen()) as url:
        port = urlsplit(url).port
        assert port is not None
        yield port


async def got(port: int, method: bytes, version: bytes) -> bytes:
    """All that comes until the server closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"%b / HTTP/%b\r\nhost: x\r\nconnection: close\r\n\r\n" % (method, version))
    async with asyncio.timeout(WAIT_S):
        said = await reader.read()
    writer.close()
    return said


async def whole(http: Http) -> None:
    await http.answer(200, b"hello", PLAIN)


async def empty(http: Http) -> None:
    await http.answer(204, b"", [])


async def parts(http: Http) -> None:
    await http.start(418, [*PLAIN, (b"set-cookie", b"a"), (b"set-cookie", b"b")], follows=True)
    for part in (b"", b"one", b"two"):
        await http.chunk(part)
    await http.end(b"three")


async def counted(http: Http) -> None:
    await http.start(200, [(b"content-length", b"6")])
    await http.chunk(b"one")
    await http.end(b"two")


async def short(http: Http) -> None:
    await http.start(200, [(b"content-length", b"7")])
    await http.end(b"six")


async def long(http: Http) -> None:
    await http.start(200, [(b"content-length", b"3")])
    await http.chunk(b"three")


async def unended(http: Http) -> None:
    await http.start(200, PLAIN, follows=True)
    await http.chunk(b"one")


async def misnamed(http: Http) -> None:
    await http.start(200, [(b"a b", b"c")])


async def injected(http: Http) -> None:
    await http.start(200, [(b"a", b"b\r\nc: d")])


ANSWERS = (whole, empty, parts, counted, short, long, unended)
SAME = [
    (answer, method, version)
    for answer, method, version in product(ANSWERS, (b"GET", b"POST", b"HEAD"), (b"1.1", b"1.0"))
    # There messages of ASGI would have made chunks.
    if not (version == b"1.0" and method != b"HEAD" and answer in (parts, unended))
]


@pytest.mark.parametrize(("answer", "method", "version"), SAME)
async def test_the_bytes_are_the_same(tmp_path: Path, answer: Answer, method: bytes, version: bytes) -> None:
    said = []
    for wired in (True, False):
        async with served(tmp_path, answer, wired=wired) as port:
            said.append(await got(port, method, version))
    assert said[0] == said[1]
    assert said[0].startswith(b"HTTP/1.1 ")


@pytest.mark.parametrize(("answer", "body"), [(parts, b"onetwothree"), (unended, b"one")])
async def test_a_client_of_http_1_0_gets_no_chunks(tmp_path: Path, answer: Answer, body: bytes) -> None:
    async with served(tmp_path, answer) as port:
        head, _, said = (await got(port, b"GET", b"1.0")).partition(b"\r\n\r\n")
    assert said.startswith(body)
    assert answer is unended or said == body
    assert b"transfer-encoding" not in head and b"connection: close" in head


@pytest.mark.parametrize("answer", [misnamed, injected])
async def test_a_header_that_would_be_another_is_not_sent(tmp_path: Path, answer: Answer) -> None:
    async with served(tmp_path, answer) as port:
        assert b"c: d" not in await got(port, b"GET", b"1.1")


async def test_a_head_waits_for_nothing_unless_something_follows(tmp_path: Path) -> None:
    seen = asyncio.Event()

    async def answer(http: Http) -> None:
        await http.start(200, PLAIN)
        await asyncio.wait_for(seen.wait(), WAIT_S)
        await http.end(b"body")

    async with served(tmp_path, answer) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        assert b"text/plain" in await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), WAIT_S)
        seen.set()
        assert b"body" in await asyncio.wait_for(reader.readuntil(b"0\r\n\r\n"), WAIT_S)
        writer.close()


async def test_a_slow_client_is_waited_for(tmp_path: Path) -> None:
    full = asyncio.Event()
    piece, sent = b"x" * (1 << 16), 0

    async def answer(http: Http) -> None:
        nonlocal sent
        await http.start(200, PLAIN)
        while http.write(piece):
            sent += 1
        full.set()
        await http.chunk(piece)
        await http.end()

    async with served(tmp_path, answer) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.0\r\n\r\n")
        await asyncio.wait_for(full.wait(), WAIT_S)
        async with asyncio.timeout(WAIT_S):
            said = await reader.read()
        assert said.count(b"x" * (1 << 16)) == sent + 1
        writer.close()
