"""Whatever we accept, h11 frames alike: the same requests, with the same targets, headers and bodies.

Refusing more is right: what two servers read differently lets a request hide in another's body.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable
from random import Random
from typing import NamedTuple

import h11
import pytest
from structlog.testing import capture_logs

from crosswind.gateway.errors import ServiceError
from crosswind.gateway.http.connection import ClientConnection
from crosswind.gateway.http.request import ClientGone, HttpRequest
from tests.gateway.http.serving import Wire, connected, served, table
from tests.gateway.http.wire_grammar import requests, split

SEED = int(os.environ.get("FUZZ_SEED", "1"))
TABLE = table()
"""One for all, so that heads are recognised by those of earlier inputs."""
MOST = 1 << 20


class Seen(NamedTuple):
    method: bytes
    target: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes


def read_by_h11(data: bytes) -> list[Seen]:
    """The complete requests, up to the first that h11 refuses or after which the connection ends."""
    found: list[Seen] = []
    while data:
        connection = h11.Connection(h11.SERVER, max_incomplete_event_size=MOST)
        # One empty line before a request may be ignored: RFC 9112, section 2.2. h11 refuses it.
        connection.receive_data(data.removeprefix(b"\r\n"))
        head, body = None, b""
        try:
            while not isinstance(event := connection.next_event(), h11.EndOfMessage):
                if isinstance(event, h11.Request):
                    head = event
                elif isinstance(event, h11.Data):
                    body += event.data
                else:
                    return found
        except h11.RemoteProtocolError:
            return found
        assert head is not None
        found.append(Seen(head.method, head.target, _comparable(head.headers), body))
        # An offer of another protocol is declined by an answer.
        connection.send(h11.Response(status_code=400, headers=[("content-length", "0")]))
        connection.send(h11.EndOfMessage())
        if connection.their_state is not h11.DONE:
            return found
        data = connection.trailing_data[0]
    return found


def _comparable(headers: Iterable[tuple[bytes, bytes]]) -> tuple[tuple[bytes, bytes], ...]:
    """Of a transfer coding, h11 doesn't keep the case."""
    return tuple((name, value.lower() if name == b"transfer-encoding" else value) for name, value in headers)


class Listener:
    """Answers each request with its body, and keeps it."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []

    async def handle(self, http: HttpRequest) -> None:
        try:
            body = await http.body(MOST)
        except ClientGone:
            return
        except ServiceError as error:
            return await http.answer(error.status, error.body())
        head = http.head.template
        self.seen.append(Seen(head.method.encode(), head.target, _comparable(http.headers), body))
        await http.answer(200, body, [])


async def read_by_us(parts: Iterable[bytes]) -> tuple[list[Seen], bytes]:
    """The requests that are served, and what is answered."""
    listener, wire = Listener(), Wire()
    connection = ClientConnection(TABLE, listener.handle)
    connection.connection_made(wire)
    for part in parts:
        if not wire.reading:
            await asyncio.sleep(0)
        connection.data_received(part)
    idle = 0
    while idle < 3:
        before = len(listener.seen)
        await asyncio.sleep(0)
        idle = 0 if len(listener.seen) > before else idle + 1
    answer = bytes(wire.written)
    connection.connection_lost(None)
    await asyncio.sleep(0)
    return listener.seen, answer


def check(data: bytes, ours: list[Seen], answer: bytes) -> None:
    theirs = read_by_h11(data)
    assert ours == theirs[: len(ours)], data
    refused = b"HTTP/1.1 4" in answer or b"HTTP/1.1 505 " in answer
    assert len(ours) == len(theirs) or refused, data
    assert answer.count(b"HTTP/1.1 200 OK\r\n") == len(ours), data


async def fuzz(
    read: Callable[[Random, bytes], Awaitable[tuple[list[Seen], bytes]]], count: int, of: int = 0
) -> None:
    served = 0
    for number in range(count):
        random = Random(f"{SEED}-{of}-{number}")
        data = requests(random)
        with capture_logs():  # a line for each refusal
            ours, answer = await read(random, data)
        check(data, ours, answer)
        served += len(ours)
    assert served > count / 3, "most inputs were refused: they test little"


async def in_memory(random: Random, data: bytes) -> tuple[list[Seen], bytes]:
    return await read_by_us(split(random, data))


async def test_some_thousand_inputs() -> None:
    await fuzz(in_memory, 3000)


@pytest.mark.slow
@pytest.mark.parametrize("of", range(1, 11))
async def test_a_hundred_thousand_inputs(of: int) -> None:
    await fuzz(in_memory, 10_000, of)


async def test_every_split_of_a_pipeline_is_read_alike() -> None:
    data = (
        b"POST /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\nt: u\r\n\r\n"
        b"\r\nPOST /b HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\nhiGET /c HTTP/1.0\r\n\r\n"
    )
    whole = await read_by_us([data])
    assert [one.body for one in whole[0]] == [b"abc", b"hi", b""]
    for at in range(1, len(data)):
        assert await read_by_us([data[:at], data[at:]]) == whole, at


async def test_over_sockets_the_same_is_answered() -> None:
    listener = Listener()
    async with served(listener.handle) as (port, _):
        for number in range(150):
            random = Random(f"{SEED}-sockets-{number}")
            data = requests(random)
            if b"100-continue" in data:
                continue  # whether the body comes first depends on the time
            parts = list(split(random, data))
            _, expected = await read_by_us(parts)
            async with connected(port) as (reader, writer):
                for part in parts:
                    writer.write(part)
                    await asyncio.sleep(0)
                # What a refusal says depends on how much was there.
                answers, refusal, _ = expected.partition(b"HTTP/1.1 4")
                assert await reader.readexactly(len(answers + refusal)) == answers + refusal, data
