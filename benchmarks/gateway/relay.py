"""A minimal relay, to be compared with: uvicorn, raw ASGI and aiohttp, no features.

`python relay.py UPSTREAM PORT`
"""

from __future__ import annotations

import sys
from typing import Any

import aiohttp
import uvicorn
from multidict import CIMultiDict
from yarl import URL

_DROPPED = frozenset({b"host", b"connection", b"transfer-encoding", b"keep-alive"})


class Relay:
    """Forwards every request to one upstream, answers chunk by chunk."""

    def __init__(self, upstream: str) -> None:
        self._upstream = upstream
        self._client: aiohttp.ClientSession | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if self._client is None:
            connector = aiohttp.TCPConnector(limit=0)
            self._client = aiohttp.ClientSession(connector=connector, auto_decompress=False)
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        headers = CIMultiDict((n.decode("latin-1"), v.decode("latin-1")) for n, v in _kept(scope["headers"]))
        url = URL(self._upstream + scope["path"], encoded=True)
        async with self._client.request(scope["method"], url, headers=headers, data=body) as answer:
            head = {
                "type": "http.response.start",
                "status": answer.status,
                "headers": _kept(answer.raw_headers),
            }
            await send(head)
            while chunk := await answer.content.readany():
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body"})


def _kept(headers: Any) -> list[tuple[bytes, bytes]]:
    return [(name, value) for name, value in headers if name.lower() not in _DROPPED]


if __name__ == "__main__":
    uvicorn.run(
        Relay(sys.argv[1]),
        host="127.0.0.1",
        port=int(sys.argv[2]),
        lifespan="off",
        log_level="error",
        access_log=False,
    )
