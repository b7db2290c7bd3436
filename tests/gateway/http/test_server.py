"""What our server tells an application beyond ASGI."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

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
