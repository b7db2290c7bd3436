"""A request is served behind others on its connection as it is alone, and so are those that follow it."""

from __future__ import annotations

import asyncio
import re

import pytest

from crosswind.gateway.http.request import HttpRequest
from tests.gateway.http.serving import connected, served

USUAL = (
    b"POST /v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nX-Crosswind-Session: s\r\nX-A: b\r\n\r\nhello"
)
LAST = b"GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
ODD = {
    "another length": USUAL.replace(b"h: 5", b"h: 2").replace(b"hello", b"ab"),
    "no body": USUAL.replace(b"h: 5", b"h: 0").replace(b"hello", b""),
    "another session": USUAL.replace(b"Session: s", b"Session: t"),
    "another order": USUAL.replace(b"Host: a\r\nContent-Length: 5", b"Content-Length: 5\r\nHost: a"),
    "another case": USUAL.replace(b"Content-Length", b"content-LENGTH"),
    "the length twice": USUAL.replace(b"h: 5", b"h: 5\r\nContent-Length: 5"),
    "two lengths": USUAL.replace(b"X-A: b", b"Content-Length: 3"),
    "two lengths in one": USUAL.replace(b"h: 5", b"h: 5, 5"),
    "a length in a value": USUAL.replace(b"X-A: b", b"X-A: Content-Length: 3"),
    "a length in the target": USUAL.replace(b"/v1/x", b"/v1/x?Content-Length:%203"),
    "a folded line": USUAL.replace(b"X-A: b", b"X-A: b\r\n Content-Length: 3"),
    "a folded length": USUAL.replace(b"h: 5", b"h:\r\n 5"),
    "a space before the colon": USUAL.replace(b"h: 5", b"h : 5"),
    "a tab": USUAL.replace(b"h: 5", b"h:\t5"),
    "signs": USUAL.replace(b"h: 5", b"h: +5"),
    "other digits": USUAL.replace(b"h: 5", "h: \u0665".encode()),
    "obs-text": USUAL.replace(b"X-A: b", b"X-A: \xff\xfe"),
    "a bare line feed": USUAL.replace(b"X-A: b\r\n", b"X-A: b\n"),
    "a NUL": USUAL.replace(b"X-A: b", b"X-A: \0"),
    "chunks": USUAL.replace(b"Content-Length: 5", b"Transfer-Encoding: chunked").replace(
        b"hello", b"5\r\nhello\r\n0\r\n\r\n"
    ),
    "chunks and a length": USUAL.replace(b"X-A: b", b"Transfer-Encoding: chunked"),
    "100-continue": USUAL.replace(b"X-A: b", b"Expect: 100-continue"),
    "HTTP/1.0": USUAL.replace(b"HTTP/1.1", b"HTTP/1.0"),
    "the end": USUAL.replace(b"X-A: b", b"Connection: close"),
    "a request in the body": USUAL.replace(b"h: 5", b"h: %d" % len(SMUGGLED)).replace(b"hello", SMUGGLED),
    "a request behind the body": USUAL.replace(b"hello", b"hello" + SMUGGLED),
    "two at once": USUAL + USUAL.replace(b"h: 5", b"h: 2").replace(b"hello", b"ab"),
}


async def echo(http: HttpRequest) -> None:
    told = (http.method, http.raw_path, http.headers, sorted(http.first.items()), await http.body(1000))
    await http.answer(200, repr(told).encode())


async def read_answer(reader: asyncio.StreamReader) -> bytes:
    """An answer, or what came of it."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", head)
        return head + (await reader.readexactly(int(length[1])) if length else b"")
    except asyncio.IncompleteReadError as error:
        return error.partial


async def exchange(port: int, before: list[bytes], sent: bytes) -> bytes:
    """What comes for a request, and for one behind it, after others got their answers."""
    async with connected(port) as (reader, writer):
        for one in before:
            writer.write(one)
            await read_answer(reader)
        writer.write(sent)
        answer = await read_answer(reader)
        writer.write(LAST)
        return answer + await reader.read()


@pytest.mark.parametrize("sent", ODD.values(), ids=ODD.keys())
async def test_a_request_is_read_behind_others_as_alone(sent: bytes) -> None:
    async with served(echo) as (port, _):
        assert await exchange(port, [USUAL, USUAL], sent) == await exchange(port, [], sent)
