"""Answers are byte for byte those that uvicorn would have written."""

from __future__ import annotations

import asyncio
from itertools import product
from typing import Any
from urllib.parse import urlsplit

import pytest

from crosswind.gateway.http.request import HttpRequest
from crosswind.loopback_server import listen, make_server, run_server
from tests.gateway.http.serving import GET, WAIT_S, Answer, connected, said, served

PLAIN = [(b"Content-Type", b"text/plain")]


class Messages:
    """Gives uvicorn the answer in ASGI's messages."""

    def __init__(self, send: Any) -> None:
        self.send = send

    async def start(self, status: int, headers: Any, *, follows: bool = False) -> None:
        await self.send({"type": "http.response.start", "status": status, "headers": headers})

    async def chunk(self, body: bytes) -> None:
        await self.send({"type": "http.response.body", "body": body, "more_body": True})

    async def end(self, body: bytes = b"") -> None:
        await self.send({"type": "http.response.body", "body": body})

    async def answer(self, status: int, body: bytes, headers: Any) -> None:
        await self.start(status, [*headers, (b"content-length", b"%d" % len(body))])
        await self.end(body)


def asking(method: bytes, version: bytes) -> bytes:
    return b"%b / HTTP/%b\r\nhost: x\r\nconnection: close\r\n\r\n" % (method, version)


async def said_by_uvicorn(answer: Any, sent: bytes) -> bytes:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await answer(Messages(send))

    async with run_server(make_server(app), listen()) as url:
        port = urlsplit(url).port
        assert port is not None
        return await said(port, sent)


async def whole(http: HttpRequest) -> None:
    await http.answer(200, b"hello", PLAIN)


async def empty(http: HttpRequest) -> None:
    await http.answer(204, b"", [])


async def parts(http: HttpRequest) -> None:
    await http.start(418, [*PLAIN, (b"set-cookie", b"a"), (b"set-cookie", b"b")], follows=True)
    for part in (b"", b"one", b"two"):
        await http.chunk(part)
    await http.end(b"three")


async def counted(http: HttpRequest) -> None:
    await http.start(200, [(b"content-length", b"6")])
    await http.chunk(b"one")
    await http.end(b"two")


async def short(http: HttpRequest) -> None:
    await http.start(200, [(b"content-length", b"7")])
    await http.end(b"six")


async def long(http: HttpRequest) -> None:
    await http.start(200, [(b"content-length", b"3")])
    await http.chunk(b"three")


async def unended(http: HttpRequest) -> None:
    await http.start(200, PLAIN, follows=True)
    await http.chunk(b"one")


async def misnamed(http: HttpRequest) -> None:
    await http.start(200, [(b"a b", b"c")])


async def injected(http: HttpRequest) -> None:
    await http.start(200, [(b"a", b"b\r\nc: d")])


ANSWERS = (whole, empty, parts, counted, short, long, unended)
SAME = [
    (answer, method, version)
    for answer, method, version in product(ANSWERS, (b"GET", b"POST", b"HEAD"), (b"1.1", b"1.0"))
    # There messages of ASGI would have made chunks.
    if not (version == b"1.0" and method != b"HEAD" and answer in (parts, unended))
]


@pytest.mark.parametrize(("answer", "method", "version"), SAME)
async def test_the_bytes_are_the_same(answer: Answer, method: bytes, version: bytes) -> None:
    sent = asking(method, version)
    async with served(answer) as (port, _):
        ours = await said(port, sent)
    assert ours == await said_by_uvicorn(answer, sent)
    assert ours.startswith(b"HTTP/1.1 ")


@pytest.mark.parametrize(("answer", "body"), [(parts, b"onetwothree"), (unended, b"one")])
async def test_a_client_of_http_1_0_gets_no_chunks(answer: Answer, body: bytes) -> None:
    async with served(answer) as (port, _):
        head, _, came = (await said(port, asking(b"GET", b"1.0"))).partition(b"\r\n\r\n")
    assert came == body
    assert b"transfer-encoding" not in head and b"connection: close" in head


@pytest.mark.parametrize("answer", [misnamed, injected])
async def test_a_header_that_would_be_another_is_not_sent(answer: Answer) -> None:
    async with served(answer) as (port, _):
        assert b"c: d" not in await said(port, asking(b"GET", b"1.1"))


async def test_a_head_waits_for_nothing_unless_something_follows() -> None:
    seen = asyncio.Event()

    async def answer(http: HttpRequest) -> None:
        await http.start(200, PLAIN)
        await asyncio.wait_for(seen.wait(), WAIT_S)
        await http.end(b"body")

    async with served(answer) as (port, _), connected(port) as (reader, writer):
        writer.write(GET)
        assert b"text/plain" in await reader.readuntil(b"\r\n\r\n")
        seen.set()
        assert b"body" in await reader.readuntil(b"0\r\n\r\n")


async def test_a_slow_client_is_waited_for() -> None:
    full = asyncio.Event()
    piece, sent = b"x" * (1 << 16), 0

    async def answer(http: HttpRequest) -> None:
        nonlocal sent
        await http.start(200, PLAIN)
        while http.write(piece):
            sent += 1
        full.set()
        await http.chunk(piece)
        await http.end()

    async with served(answer) as (port, _), connected(port) as (reader, writer):
        writer.write(b"GET / HTTP/1.0\r\n\r\n")
        await asyncio.wait_for(full.wait(), WAIT_S)
        assert (await reader.read()).count(piece) == sent + 1
