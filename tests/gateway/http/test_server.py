"""What our server tells an application beyond ASGI."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from crosswind.gateway.http.asgi import WHEN_GONE
from crosswind.gateway.http.server import make_server
from crosswind.testing.server import listen, run_server
from tests.gateway.servers import settings

REQUEST = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}"


async def test_who_asks_after_the_client_has_gone_is_told_at_once(tmp_path: Path) -> None:
    told: list[str] = []
    asked = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        scope["extensions"][WHEN_GONE]["call"](lambda: told.append("gone"))
        asked.set()

    server = make_server(settings(tmp_path, "http://127.0.0.1:1"), app)
    async with run_server(server, listen()) as url:
        _, writer = await asyncio.open_connection("127.0.0.1", urlsplit(url).port)
        writer.write(REQUEST)
        await writer.drain()
        writer.close()
        await asyncio.wait_for(asked.wait(), 60)
    assert told == ["gone"]


VALID = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
CODED = b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: "
UPGRADE = (
    b"GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n"
)


async def test_who_answers_after_the_connection_was_ended_notices_nothing(tmp_path: Path) -> None:
    ended, going = asyncio.Queue[BaseException | None](), asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await going.wait()
        try:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"{}"})
        except BaseException as error:
            await ended.put(error)
        else:
            await ended.put(None)

    server = make_server(settings(tmp_path, "http://127.0.0.1:1"), app)
    async with run_server(server, listen()) as url:
        reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(url).port)
        writer.write(VALID + b"\x00 garbage\r\n\r\n")
        assert (await asyncio.wait_for(reader.read(), 60)).startswith(b"HTTP/1.1 400 ")
        going.set()
        assert await asyncio.wait_for(ended.get(), 60) is None
        writer.close()


@pytest.mark.parametrize(
    "sent",
    [
        CODED + b"xchunked\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        CODED + b"gzip, chunked\r\n\r\n0\r\n\r\n",
        UPGRADE + b"sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ\xa3\xa3\r\n\r\n",
    ],
    ids=["two codings in two fields", "two codings", "a handshake that isn't ASCII"],
)
async def test_what_cannot_be_passed_on_is_refused(tmp_path: Path, sent: bytes) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError("it reached the application")

    server = make_server(settings(tmp_path, "http://127.0.0.1:1"), app, websockets=True)
    async with run_server(server, listen()) as url:
        reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(url).port)
        writer.write(sent)
        assert (await asyncio.wait_for(reader.read(), 60)).startswith(b"HTTP/1.1 400 ")
        writer.close()
