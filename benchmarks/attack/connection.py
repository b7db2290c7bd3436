"""HTTP/1.1 over one kept connection, read by hand, so that a client knows which byte it got last."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LIMIT = 1 << 24
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


class Broken(Exception):
    """The connection ended before the answer did; `got` is what had come of its body."""

    def __init__(self, got: bytes = b"") -> None:
        super().__init__("the connection broke")
        self.got = got


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Connection:
    """One connection to a port on loopback; it connects on first use, and again after a break."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def request(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] = {}
    ) -> Response:
        """Send one request and read its whole answer. Raises Broken."""
        raw = b"" if body is None else json.dumps(body).encode()
        lines = [f"{method} {path} HTTP/1.1", f"host: 127.0.0.1:{self._port}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        lines += ["content-type: application/json", f"content-length: {len(raw)}", "", ""]
        got = bytearray()
        try:
            reader, writer = await self._connect()
            writer.write("\r\n".join(lines).encode() + raw)
            return await _read(reader, got)
        except (OSError, asyncio.IncompleteReadError) as error:
            self.close()
            raise Broken(bytes(got)) from error
        except asyncio.CancelledError:
            self.close()
            raise

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port, limit=LIMIT)
        return self._streams

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def _read(reader: asyncio.StreamReader, got: bytearray) -> Response:
    """Read an answer, its body into `got` as it comes."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = _LENGTH.search(head)
    if length is None:
        await _read_chunks(reader, got)
    else:
        got += await reader.readexactly(int(length[1]))
    return Response(int(head.split(b" ", 2)[1]), bytes(got))


async def _read_chunks(reader: asyncio.StreamReader, got: bytearray) -> None:
    while size := int(await reader.readuntil(b"\r\n"), 16):
        got += await reader.readexactly(size)
        await reader.readexactly(2)
    await reader.readexactly(2)
