"""A client's connection: what is legal and seldom, and clients that leave, hurry or stop."""

from __future__ import annotations

import asyncio
import gzip
import socket
from collections.abc import Iterator

import pytest

from crosswind.gateway.errors import ServiceError
from crosswind.gateway.http.body import read_body
from crosswind.gateway.http.connection import ClientConnection
from crosswind.gateway.http.request import ClientGone, HttpRequest
from crosswind.gateway.workers.handoff import Dealer, HandedServer
from crosswind.loopback_server import listen
from tests.gateway.http.serving import GET, Wire, connected, handler, said, served, server_of, table
from tests.gateway.servers import wait_until

LAST = b"GET /last HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
BODY = b'{"a": "b"}'


def posting(*lines: bytes) -> bytes:
    return b"POST / HTTP/1.1\r\nhost: x\r\n" + b"".join(line + b"\r\n" for line in lines) + b"\r\n"


async def echo(http: HttpRequest) -> None:
    """Answers the body, or the error of reading it."""
    try:
        await http.answer(200, http.raw_path + b" " + await http.body(1000), [])
    except ServiceError as error:
        await http.answer(error.status, error.body(), list(error.headers))


async def test_pipelined_requests_are_answered_in_their_order() -> None:
    many = b"".join(b"GET /%d HTTP/1.1\r\nhost: x\r\n\r\n" % number for number in range(3000))
    async with served(echo) as (port, _):
        got = await said(port, many + LAST)
    assert [int(one.split()[0]) for one in got.split(b"\r\n\r\n/")[1:-1]] == list(range(3000))
    assert got.endswith(b"/last ")


async def test_thousands_of_pipelined_offers_of_a_protocol_are_declined_one_by_one() -> None:
    offer = b"GET /o HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n"
    async with served(echo) as (port, _):
        got = await said(port, offer * 2000 + LAST)
    assert got.count(b"HTTP/1.1 200 OK") == 2001


async def test_whoever_waits_for_an_answer_100_gets_it() -> None:
    head = posting(b"expect: 100-continue", b"content-length: %d" % len(BODY))
    async with served(echo) as (port, _), connected(port) as (reader, writer):
        writer.write(head)
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(BODY + LAST)
        assert (await reader.read()).count(b"HTTP/1.1 200 OK") == 2


async def test_whoever_waits_for_an_answer_100_and_is_refused_is_hung_up_on() -> None:
    """It may send its body or not, so that nobody can know what comes next."""
    async with served(echo) as (port, _):
        got = await said(port, posting(b"expect: 100-continue", b"content-length: 2000"))
    assert got.startswith(b"HTTP/1.1 413 ") and b"connection: close" in got


async def test_the_rest_of_a_refused_body_is_dropped_and_the_connection_goes_on() -> None:
    async with served(echo) as (port, _):
        got = await said(port, posting(b"content-length: 3000000"), b"x" * 3_000_000, LAST)
    assert got.startswith(b"HTTP/1.1 413 ") and got.endswith(b"/last ")


@pytest.mark.parametrize("how", ["close", "half"])
async def test_a_client_that_leaves_ends_its_request(how: str) -> None:
    """A connection that was closed and one that was closed by half look the same from here."""
    begun, ended = asyncio.Event(), asyncio.Event()
    gone: list[bool] = []

    async def wait(http: HttpRequest) -> None:
        http.cancel_when_gone()
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            gone.append(http.gone)
            ended.set()

    async with served(wait) as (port, _), connected(port) as (_, writer):
        writer.write(GET)
        await begun.wait()
        writer.close() if how == "close" else writer.write_eof()
        await ended.wait()
    assert gone == [True]


async def test_a_client_that_leaves_within_its_body_ends_the_reading() -> None:
    seen = asyncio.Queue[BaseException]()

    async def read(http: HttpRequest) -> None:
        try:
            await http.body(1000)
        except BaseException as error:
            await seen.put(error)

    async with served(read) as (port, connections):
        async with connected(port) as (_, writer):
            writer.write(posting(b"content-length: 10") + b"x")
            await wait_until(lambda: connections.budget.held == 1)
        assert isinstance(await seen.get(), ClientGone)
        await wait_until(lambda: connections.budget.held == 0)


async def test_who_asks_after_the_client_has_left_is_cancelled_at_once() -> None:
    asked, gone = asyncio.Event(), list[bool]()

    async def ask(http: HttpRequest) -> None:
        await asked.wait()
        http.cancel_when_gone()
        try:
            await asyncio.sleep(0)
        finally:
            gone.append(http.gone)

    async with served(ask) as (port, connections):
        async with connected(port) as (_, writer):
            writer.write(GET)
            await wait_until(lambda: any(one.serving for one in connections.open))
        await wait_until(lambda: not connections.open)
        asked.set()
        await wait_until(lambda: gone == [True])


@pytest.mark.parametrize("started", [False, True])
async def test_a_request_whose_task_fails_is_not_left_open(started: bool) -> None:
    async def fail(http: HttpRequest) -> None:
        if started:
            await http.start(200, [(b"content-length", b"5")])
        raise ZeroDivisionError

    async with served(fail) as (port, _):
        got = await said(port, GET)
    assert got.startswith(b"HTTP/1.1 200 " if started else b"HTTP/1.1 500 ")


async def test_a_body_may_be_read_in_parts_at_the_readers_pace() -> None:
    """Who reads nothing holds the client back."""
    going, body = asyncio.Event(), b"x" * 1_000_000

    async def read(http: HttpRequest) -> None:
        await going.wait()
        got = b"".join([part async for part in http.chunks()])
        await http.answer(200, b"%d" % len(got))

    connection = ClientConnection(connections := table(), read)
    connection.connection_made(wire := Wire())
    for part in parts_of(posting(b"content-length: %d" % len(body)) + body):
        if not wire.reading:
            break
        connection.data_received(part)
    assert not wire.reading and connections.budget.held < 200_000
    connection.connection_lost(None)
    going.set()
    async with served(read) as (port, _):
        assert (await said(port, posting(b"content-length: %d" % len(body)) + body + LAST)).count(
            b"1000000"
        ) == 1


def parts_of(data: bytes) -> Iterator[bytes]:
    yield from (data[at : at + 50_000] for at in range(0, len(data), 50_000))


async def test_a_body_is_decoded_within_the_memory_budget() -> None:
    async def read(http: HttpRequest) -> None:
        try:
            body = await read_body(http, 1 << 26)
            await http.answer(200, b"%d" % len(body.body))
        except ServiceError as error:
            await http.answer(error.status, error.body(), list(error.headers))

    bomb = gzip.compress(bytes(20_000_000))
    sent = posting(b"content-encoding: gzip", b"content-length: %d" % len(bomb)) + bomb
    async with served(read, bodies=10_000_000) as (port, connections), connected(port) as (reader, writer):
        writer.write(sent)
        got = await reader.readuntil(b"bodies_too_large_together")
        assert got.startswith(b"HTTP/1.1 503 ") and b"retry-after: 1" in got
        await wait_until(lambda: connections.budget.held == 0)
    async with served(read, bodies=100_000_000) as (port, connections):
        assert (await said(port, sent + LAST)).count(b"20000000") == 1


def blocking_client(port: int) -> socket.socket:
    client = socket.create_connection(("127.0.0.1", port), timeout=60)
    client.sendall(GET)
    return client


async def test_connections_that_nobody_accepted_yet_are_answered_when_the_server_ends() -> None:
    listener = listen()
    server = server_of(table(), echo)
    await server.start(listener)
    port = listener.getsockname()[1]
    waiting = [blocking_client(port) for _ in range(20)]  # the loop has no time to accept them
    await server.close()
    for client in waiting:
        got = await asyncio.to_thread(client.makefile("rb").read)
        assert got.startswith(b"HTTP/1.1 200 OK") and b"connection: close" in got
        client.close()


async def test_connections_that_no_worker_has_yet_are_answered_when_they_end() -> None:
    listener, (ours, theirs) = listen(), socket.socketpair()
    ours.setblocking(False)
    dealer, server = Dealer(listener), HandedServer(table(), handler(echo))
    await server.start(theirs)
    dealer.add(ours)
    waiting = [blocking_client(listener.getsockname()[1]) for _ in range(20)]
    dealer.close()
    await server.close()
    for client in waiting:
        assert (await asyncio.to_thread(client.makefile("rb").read)).startswith(b"HTTP/1.1 200 OK")
        client.close()
    ours.close()


async def test_idle_connections_end_with_the_server_and_requests_in_flight_before() -> None:
    going = asyncio.Event()

    async def wait(http: HttpRequest) -> None:
        if http.raw_path == b"/slow":
            await going.wait()
        await http.answer(200, b"", [])

    listener, server = listen(), server_of(table(), wait)
    await server.start(listener)
    port = listener.getsockname()[1]
    async with connected(port) as (idle, one), connected(port) as (slow, other):
        one.write(GET)
        await idle.readuntil(b"\r\n\r\n")
        other.write(GET.replace(b"/ ", b"/slow "))
        await wait_until(lambda: server.in_flight == 1)
        closing = asyncio.create_task(server.close())
        assert await idle.read() == b""
        assert not closing.done()
        going.set()
        got = await slow.read()
        assert got.startswith(b"HTTP/1.1 200 OK") and b"connection: close" in got
        await closing


async def test_what_lasts_longer_than_the_drain_is_cancelled() -> None:
    async def wait(http: HttpRequest) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await http.answer(503, b"cut", [])

    listener, server = listen(), server_of(table(timeouts={"drain": 0.05}), wait)
    await server.start(listener)
    async with connected(listener.getsockname()[1]) as (reader, writer):
        writer.write(GET)
        await wait_until(lambda: server.in_flight == 1)
        await server.close()
        assert (await reader.read()).endswith(b"cut")
