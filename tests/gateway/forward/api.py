"""An API with JSON, encodings, events, a large file and an order that counts what really happened."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
from typing import Any

import brotli
import zstandard

ENCODERS = {
    "gzip": lambda body: gzip.compress(body, mtime=0),
    "br": brotli.compress,
    "zstd": lambda body: zstandard.ZstdCompressor().compress(body),
}
LARGE = bytes(range(256)) * (1 << 14)
ITEMS = {"items": [{"id": f"A-{number}", "title": f"Blue lamp number {number}"} for number in range(20)]}


class Api:
    def __init__(self) -> None:
        self.orders: list[Any] = []
        self.release = threading.Event()
        self.arrived = threading.Event()
        """A request that hangs has come."""
        self.seen: list[tuple[str, str, dict[str, str], bytes]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            body = await _read_body(receive)
            headers = {name.decode(): value.decode() for name, value in scope["headers"]}
            self.seen.append((scope["method"], scope["path"], headers, body))
            if scope["path"] == "/hang":
                self.arrived.set()
                while (await receive())["type"] != "http.disconnect":
                    pass
            else:
                await self._respond(scope["method"], scope["path"], body, send)

    async def _respond(self, method: str, path: str, body: bytes, send: Any) -> None:
        match path.split("/")[1:]:
            case ["orders"] if method == "POST":
                self.orders.append(json.loads(body))
                await _answer(send, json.dumps({"order": len(self.orders), "state": "paid"}).encode())
            case ["encoded", encoding]:
                content = ENCODERS[encoding](json.dumps(ITEMS).encode())
                await _answer(send, content, ("content-encoding", encoding))
            case ["chunked"]:
                await _send_pieces(send, "application/json", json.dumps(ITEMS).encode(), 100)
            case ["events" | "ticks", *count]:
                events = b"".join(map(_event, range(int("".join(count) or "5"))))
                await _send_pieces(send, "text/event-stream", events, 37)
            case ["large"]:
                await _answer(send, LARGE, kind="application/octet-stream")
            case ["drip"]:
                await self._drip(send)
            case ["missing"]:
                await _answer(send, b'{"detail": "no such thing"}', status=404)
            case _:
                await _answer(send, json.dumps(ITEMS | {"path": path}).encode(), ("etag", '"1"'))

    async def _drip(self, send: Any) -> None:
        """Two pieces; the second comes when the first was received."""
        self.release.clear()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"first", "more_body": True})
        await asyncio.to_thread(self.release.wait)
        await send({"type": "http.response.body", "body": b"second"})


def _event(number: int) -> bytes:
    return b'event: item\nid: %d\ndata: {"title": "Blue lamp number %d"}\n\n' % (number, number)


async def _read_body(receive: Any) -> bytes:
    body = b""
    more = True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return body


async def _answer(
    send: Any, body: bytes, *headers: tuple[str, str], kind: str = "application/json", status: int = 200
) -> None:
    fields = [("content-type", kind), ("content-length", str(len(body))), *headers]
    raw = [(name.encode(), value.encode()) for name, value in fields]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": body})


async def _send_pieces(send: Any, kind: str, body: bytes, size: int) -> None:
    headers = [(b"content-type", kind.encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    for start in range(0, len(body), size):
        await send({"type": "http.response.body", "body": body[start : start + size], "more_body": True})
    await send({"type": "http.response.body"})
