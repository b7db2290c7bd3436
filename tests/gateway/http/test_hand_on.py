"""A connection that one worker gives to another, with what it read of a request."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from crosswind.gateway.http.request import HttpRequest
from crosswind.gateway.workers.handoff import Dealer, HandedServer
from crosswind.loopback_server import listen
from tests.gateway.http.serving import connected, handler, table

OWN = b"GET /one HTTP/1.1\r\nhost: x\r\n\r\n"
POST = b"POST /two HTTP/1.1\r\nhost: x\r\n"
BODIES = {
    "none": b"\r\n",
    "length": b"content-length: 11\r\n\r\nhello world",
    "chunks": b"transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n",
    "trailer": b"transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\nx-sum: 1\r\n\r\n",
}


@contextlib.asynccontextmanager
async def workers(folder: Path, *, alive: int = 2) -> AsyncIterator[int]:
    """Two workers behind a dealer: the first has `/one`, the second `/two`. Gives the port."""
    listener = listen()
    dealer, servers, ends = Dealer(listener), [], []

    async def serve(number: int, http: HttpRequest) -> None:
        owner = 1 if http.raw_path == b"/one" else 2
        if owner != number and http.hand_on(partial(servers[number - 1].hand_on, folder, owner)):
            return
        await http.answer(200, b"%d:%b:%b" % (number, http.raw_path, await http.body(100_000)), [])

    for number in range(1, alive + 1):
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        servers.append(HandedServer(table(), handler(partial(serve, number))))
        ends.append(ours)
        await servers[-1].start(theirs)
        dealer.add(ours, number)
    try:
        yield listener.getsockname()[1]
    finally:
        dealer.close()
        await asyncio.gather(*(server.close() for server in servers))
        for end in ends:
            dealer.remove(end)
            end.close()


async def answer(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
    return await reader.readexactly(length)


@pytest.mark.parametrize("kind", BODIES)
async def test_wherever_a_request_breaks_the_other_worker_reads_on(tmp_path: Path, kind: str) -> None:
    raw = POST + BODIES[kind]
    body = b"" if kind == "none" else b"hello world"
    async with workers(tmp_path) as port:
        for at in range(raw.index(b"\r\n\r\n") + 4, len(raw) + 1):
            async with connected(port) as (reader, writer):
                writer.write(OWN + raw[:at])
                got = [await answer(reader)]
                writer.write(raw[at:] + raw)
                got += [await answer(reader), await answer(reader)]
            assert {one[2:] for one in got} == {b"/one:", b"/two:" + body}
            assert [one[:1] for one in got] == [b"1", b"2", b"2"], at


async def test_a_large_request_moves_whole(tmp_path: Path) -> None:
    body = bytes(range(256)) * 300
    async with workers(tmp_path) as port:
        for _ in range(2):  # One of them begins at either worker.
            async with connected(port) as (reader, writer):
                writer.write(POST + b"content-length: %d\r\n\r\n" % len(body) + body)
                assert await answer(reader) == b"2:/two:" + body


@pytest.mark.parametrize("what", ["c", "m"])
async def test_a_connection_that_lost_a_descriptor_on_its_way_is_closed(what: str) -> None:
    """A process that has none left gets fewer than were sent."""
    ours, theirs = socket.socketpair()
    client, accepted = socket.socketpair()
    served, failures = list[bytes](), list[object]()

    async def serve(http: HttpRequest) -> None:
        served.append(http.raw_path)
        await http.answer(200, b"", [(b"connection", b"close")])

    asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context))
    server = HandedServer(table(), handler(serve))
    await server.start(theirs)
    client.send(OWN)
    socket.send_fds(ours, [what.encode()], [accepted.fileno()] if what == "m" else [])
    accepted.close()
    reader, writer = await asyncio.open_connection(sock=client)
    with contextlib.suppress(ConnectionError):
        await reader.read()
    writer.close()
    ours.close()
    await server.close()
    assert not served and not failures


async def test_a_request_whose_worker_is_gone_is_served_where_it_is(tmp_path: Path) -> None:
    async with workers(tmp_path, alive=1) as port, connected(port) as (reader, writer):
        for _ in range(2):
            writer.write(POST + BODIES["length"])
            assert await answer(reader) == b"1:/two:hello world"
