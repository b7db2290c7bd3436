"""A client of the control plane for thousands of calls: `AsyncClient` takes more time than the calls."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx

from crosswind.gateway.client import DEFAULT_TIMEOUT_S, AsyncClient, authorization
from crosswind.gateway.client.calls import Calls

_LARGEST = 64 << 20
_HEAD = 64 << 10
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def open_control(url: str) -> Calls:
    """A client for this control plane."""
    return LeanClient(url) if urlsplit(url).scheme == "http" else AsyncClient(url)


class LeanClient(Calls):
    """One request at a time on each connection; as many connections as there are requests at once."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        parts = urlsplit(self.url)
        self._host, self._port, self._path = parts.hostname or "", parts.port or 80, parts.path
        headers = {"host": parts.netloc.rpartition("@")[2], **authorization(None)}
        self._headers = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self._idle: list[Connection] = []

    async def _send(self, method: str, path: str, body: Any, query: Mapping[str, Any]) -> httpx.Response:
        content = b"" if body is None else json.dumps(body).encode()
        target = self._path + path + (f"?{urlencode(query)}" if query else "")
        head = (
            f"{method} {target} HTTP/1.1\r\n{self._headers}"
            f"content-type: application/json\r\ncontent-length: {len(content)}\r\n\r\n"
        )
        request = httpx.Request(method, f"{self.url}{path}")
        try:
            async with asyncio.timeout(DEFAULT_TIMEOUT_S):
                status, answer = await self._exchange(head.encode() + content)
        except (OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            raise httpx.TransportError(str(error) or type(error).__name__, request=request) from error
        return httpx.Response(status, content=answer, request=request)

    async def _exchange(self, sent: bytes) -> tuple[int, bytes]:
        """Send on an idle connection; where the gateway has closed it meanwhile, on another one.

        So a call may be made twice. Of those made here, none does harm.
        """
        while self._idle:
            connection = self._idle.pop()
            try:
                return await self._exchange_on(connection, sent)
            except (ConnectionError, asyncio.IncompleteReadError):
                continue
        opened = await asyncio.open_connection(self._host, self._port, limit=_HEAD)
        return await self._exchange_on(opened, sent)

    async def _exchange_on(self, connection: Connection, sent: bytes) -> tuple[int, bytes]:
        reader, writer = connection
        try:
            writer.write(sent)
            status, length = _parse_head(await reader.readuntil(b"\r\n\r\n"))
            answer = await reader.readexactly(length)
        except BaseException:
            writer.close()
            raise
        self._idle.append(connection)
        return status, answer

    async def _disconnect(self) -> None:
        for _, writer in self._idle:
            writer.close()
        self._idle.clear()


def _parse_head(head: bytes) -> tuple[int, int]:
    """The status and the length of the body. Raises ValueError."""
    first, *lines = head.split(b"\r\n")
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (one.partition(b":") for one in lines)
    }
    status, length = int(first.split(b" ", 2)[1]), headers.get(b"content-length")
    if length is None or not 0 <= int(length) <= _LARGEST:
        raise ValueError("an answer without a length that can be read")
    return status, int(length)
