"""What is legal and seldom: offers of another protocol, trailers, trailing slashes, steps out of the path,
answers that tell the length of a body that they leave out.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from crosswind.testing.replies import JSON, Part, ReceivedRequest, plain
from tests.gateway.dialogue import PROFILE, body, user
from tests.gateway.servers import Running, answer, connection, gateway, upstream

BODY = json.dumps(body(user("Where is order W17?"))).encode()
OFFER = b"connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\n"
CHUNKED = b"%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY)
WAIT_S = 60.0


async def said(running: Running, *parts: bytes) -> bytes:
    """What comes for a request that is sent in these parts, until the gateway closes the connection."""
    async with connection(running) as (reader, writer), asyncio.timeout(WAIT_S):
        for part in parts:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(0)
        return await reader.read()


def posting(*lines: bytes) -> bytes:
    head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
    return head + b"".join(lines) + b"\r\n"


WHOLE = (posting(OFFER, b"content-length: %d\r\n" % len(BODY)), BODY)
IN_CHUNKS = (posting(OFFER, b"transfer-encoding: chunked\r\n"), CHUNKED)
NEXT = posting(b"connection: close\r\ncontent-length: %d\r\n" % len(BODY)) + BODY


@pytest.mark.parametrize("request_", [WHOLE, IN_CHUNKS], ids=["counted", "chunked"])
@pytest.mark.parametrize("split", ["together", "apart", "bytewise"])
async def test_who_offers_http_2_is_answered_in_http_1(
    tmp_path: Path, request_: tuple[bytes, bytes], split: str
) -> None:
    """curl --http2 and Java's client send their first request so."""
    head, sent = request_
    parts = {"together": [head + sent + NEXT], "apart": [head, sent, NEXT]}
    async with upstream() as app, gateway(tmp_path, app) as running:
        pieces = parts.get(split) or [bytes([byte]) for byte in head + sent + NEXT]
        got = await said(running, *pieces)
        assert got.count(b"HTTP/1.1 200 OK") == 2, got
        assert [seen.body for seen in app.requests] == [BODY, BODY]
        assert not {"upgrade", "http2-settings", "connection"} & set(app.requests[0].headers)


async def test_a_tunnel_is_refused(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app) as running:
        got = await said(running, b"CONNECT example.com:443 HTTP/1.1\r\nhost: example.com:443\r\n\r\n")
        assert got.startswith(b"HTTP/1.1 400 ") and not app.requests


async def test_a_trailing_slash_makes_a_turn_no_other_request(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app, noise=PROFILE) as running:
        for slash in ("", "/"):
            url = f"{running.data}/s/s/v1/chat/completions{slash}"
            assert (await running.http.post(url, content=BODY)).status_code == 200
        assert [seen.path for seen in app.requests] == ["/v1/chat/completions", "/v1/chat/completions/"]
        assert app.requests[0].body == app.requests[1].body != BODY
        assert len((await running.trajectory("s"))["turns"]) == 2


@pytest.mark.parametrize("prefix", ["", "/s/s"])
@pytest.mark.parametrize(
    ("start", "asked", "to"),
    [
        ("", "/chat/completions/", "/v1/chat/completions?a=1"),
        ("url", "/chat/completions/", "/v1/chat/completions"),
        ("url", "/files", "/v1/files/x/"),
        ("", "/files/x/content", "/v1/files/y%20z/content"),
    ],
)
async def test_who_follows_a_redirect_within_the_upstream_stays_here(
    tmp_path: Path, prefix: str, start: str, asked: str, to: str
) -> None:
    async def redirect(_: ReceivedRequest) -> AsyncIterator[Part]:
        yield 307, [JSON, (b"Location", f"{app.url if start else ''}{to}".encode())]
        yield b"{}"

    async with upstream(redirect, plain(answer())) as app, gateway(tmp_path, app) as running:
        url = f"{running.data}{prefix}/v1{asked}"
        came = await running.http.post(url, content=BODY, follow_redirects=True)
        assert came.status_code == 200 and [one.status_code for one in came.history] == [307]
        assert str(came.url) == f"{running.data}{prefix}{to}"
        assert app.requests[1].path == to and app.requests[1].body == BODY


@pytest.mark.parametrize(
    "to", ["https://elsewhere.example/v1/x", "//elsewhere.example/v1/x", "/login", "x/y", ""]
)
async def test_a_redirect_elsewhere_stays_as_it_is(tmp_path: Path, to: str) -> None:
    async def redirect(_: ReceivedRequest) -> AsyncIterator[Part]:
        yield 302, [JSON, (b"location", to.encode())]
        yield b"{}"

    async with upstream(redirect) as app, gateway(tmp_path, app) as running:
        assert (await running.http.get(f"{running.data}/v1/files/")).headers["location"] == to


@pytest.mark.parametrize("path", [b"/v1/../admin", b"/v1/x/%2E%2e/y", b"/s/s/v1/.", b"/v1/%2e./%2E/x"])
async def test_no_path_leads_out_of_the_upstreams(tmp_path: Path, path: bytes) -> None:
    async with upstream() as app, gateway(tmp_path, app) as running:
        got = await said(running, b"GET %b HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n" % path)
        assert got.startswith(b"HTTP/1.1 404 ") and not app.requests
        usual = await said(running, b"GET /v1/x..y/.z HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        assert usual.startswith(b"HTTP/1.1 200 ") and app.requests[0].path == "/v1/x..y/.z"


@pytest.mark.parametrize("split", ["together", "bytewise"])
async def test_a_trailer_is_no_header(tmp_path: Path, split: str) -> None:
    """However it comes, it can't name another session, or put a header before the upstream."""
    head, length = posting(b"transfer-encoding: chunked\r\nconnection: close\r\n"), len(BODY)
    trailers = b"x-crosswind-session: another\r\nauthorization: Bearer x\r\nx-new: 1\r\n"
    sent = head + b"%x\r\n%b\r\n0\r\n%b\r\n" % (length, BODY, trailers)
    parts = [sent] if split == "together" else [bytes([byte]) for byte in sent]
    async with upstream() as app, gateway(tmp_path, app) as running:
        assert (await said(running, *parts)).startswith(b"HTTP/1.1 200 OK")
        assert app.requests[0].body == BODY
        assert not {"authorization", "x-new"} & set(app.requests[0].headers)
        assert (await running.api("GET", "/api/sessions/another")).status_code == 404


async def test_a_304_may_tell_a_length(tmp_path: Path) -> None:
    """It is that of the body that the client has (RFC 9110, section 8.6); the connection is kept."""

    async def unchanged(_: ReceivedRequest) -> AsyncIterator[Part]:
        yield 304, [(b"content-length", b"5"), (b"etag", b'"a"')]

    get = b"GET /v1/files/x HTTP/1.1\r\nhost: x\r\n%b\r\n"
    async with upstream(unchanged) as app, gateway(tmp_path, app) as running:
        got = await said(running, get % b"" + get % b"connection: close\r\n")
        assert got.count(b"HTTP/1.1 304 Not Modified") == got.count(b"content-length: 5\r\n") == 2, got
