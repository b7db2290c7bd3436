"""Connections to upstreams: reuse and closing, streamed bodies, certificates."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from crosswind.gateway.config.sections import Limits, Timeouts
from crosswind.gateway.errors import UpstreamError
from crosswind.gateway.upstreams import address
from crosswind.gateway.upstreams.pool import Pool
from crosswind.gateway.upstreams.request import UpstreamRequest
from tests.gateway.servers import wait_until
from tests.gateway.upstreams.raw_server import (
    OK,
    PLENTY,
    Server,
    fetch,
    open_pool,
    reply_with,
    send_request,
    serve,
)


async def test_a_head_request_has_no_body_and_keeps_its_connection() -> None:
    async with serve(reply_with(OK.removesuffix(b"ok"), OK)) as server, open_pool(server) as pool:
        assert await fetch(pool, server, "HEAD", None) == (200, b"")
        assert await fetch(pool, server) == (200, b"ok")
        assert server.connections == 1
        assert server.heads[0].startswith(b"HEAD /v1/x?y=1 HTTP/1.1\r\nHost: 127.0.0.1:")


async def test_what_belongs_to_no_answer_ends_the_connection() -> None:
    async with serve(reply_with(OK + OK, OK)) as server, open_pool(server) as pool:
        assert await fetch(pool, server) == (200, b"ok")
        assert await fetch(pool, server) == (200, b"ok")
        assert server.connections == 2


@pytest.mark.parametrize(("method", "again"), [("GET", True), ("POST", False)])
async def test_only_what_may_come_twice_is_sent_again_on_a_stale_connection(method: str, again: bool) -> None:
    """The server hangs up on the second request of its first connection without a word."""

    async def talk(server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await server.request(reader)
        writer.write(OK)
        await server.request(reader)
        if server.connections > 1:
            writer.write(OK)

    async with serve(talk) as server, open_pool(server) as pool:
        assert await fetch(pool, server, "GET", None) == (200, b"ok")
        if again:
            assert await fetch(pool, server, method, None) == (200, b"ok")
        else:
            with pytest.raises(UpstreamError, match="broke the connection"):
                await fetch(pool, server, method)
        assert (server.connections, len(server.heads)) == ((2, 3) if again else (1, 2))


async def test_a_connection_that_the_server_closed_meanwhile_is_not_used() -> None:
    async with serve(reply_with(OK, close=True)) as server, open_pool(server) as pool:
        for number in range(3):
            assert await fetch(pool, server) == (200, b"ok")
            (kept,) = pool._idle_connections[server.url]
            await wait_until(partial(getattr, kept, "lost"))
            assert server.connections == number + 1


async def test_a_connection_rests_no_longer_than_it_may() -> None:
    async with serve(reply_with(OK)) as server:
        pool = Pool([server.url], Timeouts(idle=0.01), Limits())
        assert await fetch(pool, server) == (200, b"ok")
        await asyncio.wait_for(server.gone.wait(), 60)
        await pool.close()


async def test_who_stops_waiting_for_an_answer_hangs_up() -> None:
    begun = asyncio.Event()

    async def talk(server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await server.request(reader)
        begun.set()
        await server.request(reader)

    async with serve(talk) as server, open_pool(server) as pool:
        waiting = asyncio.create_task(send_request(pool, server))
        await begun.wait()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await asyncio.wait_for(server.gone.wait(), 60)
        assert pool.in_flight == 0


async def test_an_answer_that_is_closed_before_its_end_hangs_up() -> None:
    half = b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"
    async with serve(reply_with(half)) as server, open_pool(server) as pool:
        answer = await send_request(pool, server)
        answer.close()
        answer.close()
        await asyncio.wait_for(server.gone.wait(), 60)
        assert pool.in_flight == 0


@pytest.mark.parametrize("length", [None, b"11"])
async def test_a_body_that_is_still_to_be_read(length: bytes | None) -> None:
    async def body() -> AsyncIterator[bytes]:
        for part in (b"hello", b" ", b"world"):
            await asyncio.sleep(0)
            yield part

    got = b""

    async def talk(server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal got
        got = await server.request(reader)
        if length is None:
            got = await reader.readuntil(b"0\r\n\r\n")
        writer.write(OK)

    async with serve(talk) as server, open_pool(server) as pool:
        headers = [] if length is None else [(b"content-length", length)]
        answer = await pool.send(server.url, UpstreamRequest("POST", "/x", headers, body), lambda code: None)
        assert await answer.read_all(PLENTY) == b"ok"
        answer.close()
    assert got == (b"hello world" if length else b"5\r\nhello\r\n1\r\n \r\n5\r\nworld\r\n0\r\n\r\n")


async def test_a_body_that_cannot_be_read_ends_the_request() -> None:
    class Gone(Exception):
        pass

    async def body() -> AsyncIterator[bytes]:
        yield b"half"
        raise Gone

    async with serve(reply_with(OK)) as server, open_pool(server) as pool:
        with pytest.raises(Gone):
            await send_request(pool, server, body=body)
        assert pool.in_flight == 0


@pytest.mark.parametrize(
    ("head", "message"),
    [
        *((b"%b X\r\n\r\n" % status, "which HTTP doesn't have") for status in (b"101", b"099", b"700")),
        *(
            (b"200 OK\r\nx: " + b"a" * 2000 + end, r"larger than 1000 bytes \(limits.header\)")
            for end in (b"\r\n\r\n", b"")
        ),
        (b"200 OK\r\nx: a\x01b\r\n\r\n", "control character"),
    ],
)
async def test_an_invalid_head_is_refused(head: bytes, message: str) -> None:
    async with serve(reply_with(b"HTTP/1.1 " + head)) as server, open_pool(server, header=1000) as pool:
        with pytest.raises(UpstreamError, match=message) as failed:
            await send_request(pool, server)
        assert (failed.value.code, pool.in_flight) == ("upstream_broken", 0)


def dated(number: int, body: bytes, length: bytes | None = None, extra: bytes = b"") -> bytes:
    length = b"%d" % len(body) if length is None else length
    return (
        b"HTTP/1.1 200 OK\r\ndate: %d\r\nX-Kept: 100%%\r\nContent-Length: %b\r\nx-request-id:%d%b\r\n\r\n%b"
        % (number, length, number, extra, body)
    )


async def test_a_head_like_an_earlier_one_has_its_own_values() -> None:
    answers = [dated(number, b"x" * number) for number in (3, 0, 12)]
    async with serve(reply_with(*answers)) as server, open_pool(server) as pool:
        for number in (3, 0, 12):
            answer = await send_request(pool, server)
            assert await answer.read_all(PLENTY) == b"x" * number
            own = b"%d" % number
            assert answer.headers == [
                (b"date", own), (b"X-Kept", b"100%"), (b"Content-Length", own), (b"x-request-id", own)
            ]  # fmt: skip
            assert answer.header("x-request-id") == str(number)
            assert (answer.head is not None) == (number != 3)
            if answer.head is not None:
                lines = answer.head.write(edited=False).lines
                assert lines == b"HTTP/1.1 200 OK\r\ndate: %b\r\nx-kept: 100%%\r\nx-request-id: %b\r\n" % (
                    own,
                    own,
                )
            answer.close()
        assert server.connections == 1


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (dated(2, b"ok", length=b"x"), "invalid HTTP"),
        (dated(2, b"ok", length=b"-2"), "invalid HTTP"),
        (dated(2, b"ok", extra=b"\x01"), "control character"),
    ],
)
async def test_a_head_like_an_earlier_one_is_checked_as_well(second: bytes, message: str) -> None:
    async with serve(reply_with(dated(1, b"ok"), second)) as server, open_pool(server) as pool:
        assert await fetch(pool, server) == (200, b"ok")
        with pytest.raises(UpstreamError, match=message):
            await fetch(pool, server)


async def test_what_follows_a_body_of_known_length_ends_the_connection() -> None:
    async with (
        serve(reply_with(dated(1, b"ok"), dated(2, b"ok") + b"surplus")) as server,
        open_pool(server) as pool,
    ):
        assert await fetch(pool, server) == (200, b"ok")
        assert await fetch(pool, server) == (200, b"ok")
        assert not pool._idle_connections[server.url]


async def test_a_line_end_in_a_header_is_not_sent() -> None:
    async with serve(reply_with(OK)) as server, open_pool(server) as pool:
        with pytest.raises(ValueError, match="line end"):
            await pool.send(
                server.url, UpstreamRequest("POST", "/x", [(b"a", b"b\r\nc: d")], b"{}"), lambda code: None
            )
        assert server.connections == 0 and pool.in_flight == 0


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate of localhost, and its key."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(certificate)],
        check=True, capture_output=True,
    )  # fmt: skip
    return certificate, key


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes a certificate with openssl")
async def test_certificates_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate, key = make_certificate(tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    # What another test cached must not count, nor what is trusted here for another test.
    monkeypatch.setattr(address, "_tls_context", address._tls_context.__wrapped__)
    async with serve(reply_with(OK, OK), tls) as server:
        async with open_pool(server) as pool:
            with pytest.raises(UpstreamError, match=r"certificate isn't trusted: .*SSL_CERT_FILE") as failed:
                await fetch(pool, server)
            assert failed.value.code == "upstream_unreachable"
            assert "start it" not in failed.value.message
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        async with open_pool(server) as pool:
            assert await fetch(pool, server) == (200, b"ok")
            assert await fetch(pool, server) == (200, b"ok")
        server.url = server.url.replace("localhost", "127.0.0.1")
        async with open_pool(server) as pool:
            with pytest.raises(UpstreamError, match=r"certificate is not valid for '127\.0\.0\.1'.* address"):
                await fetch(pool, server)
        assert len(server.heads) == 2


async def test_what_takes_a_body_may_refuse_it() -> None:
    """An exception of `take` reaches the caller of `pour`, and the connection isn't reused."""
    more = asyncio.Event()

    async def talk(server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await server.request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n")
        await more.wait()
        writer.write(b"o")
        await reader.read()

    def take(chunk: bytes) -> bool:
        raise ValueError(chunk)

    async with serve(talk) as server, open_pool(server) as pool:
        answer = await send_request(pool, server)
        pouring = asyncio.create_task(answer.pour(take))
        await asyncio.sleep(0)
        more.set()
        with pytest.raises(ValueError, match="o"):
            await pouring
        answer.close()
        assert (answer.complete, pool.in_flight) == (False, 0)
