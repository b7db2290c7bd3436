"""Pooled connections to one upstream's replicas: one request, its answer's head. Every failure is named."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from gateway.configuration.sections import Limits, Timeouts
from gateway.errors import UpstreamError
from gateway.headers import Headers
from gateway.upstreams.answer import Answer, Patience, said

_AUTOMATIC = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")
_KEPT_RECEIVED = 1 << 18
"""Bytes of an answer that are held for a slow client, before the upstream is made to wait."""

_STATUSES = range(200, 600)
_AT_ONCE = 1 << 20
"""The largest body that is handed to the connection as a whole, in bytes."""

Body = bytes | Callable[[], AsyncIterator[bytes]] | None
"""A body at hand, one that is still to be read, or none."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request as an upstream gets it; `path` follows its base, with the query."""

    method: str
    path: str
    headers: Headers
    body: Body

    @property
    def repeatable(self) -> bool:
        """Whether it can be sent again after it was sent once."""
        return not callable(self.body)


class Pool:
    """Connections to all replicas of an upstream, at most `limits.connections` at a time."""

    def __init__(self, timeouts: Timeouts, limits: Limits) -> None:
        self.timeouts = timeouts
        self._limits = limits
        self._free = asyncio.Semaphore(limits.connections)
        self._session: aiohttp.ClientSession | None = None
        self.in_flight = 0
        self._idle: asyncio.Event | None = None

    @property
    def client(self) -> aiohttp.ClientSession:
        """The client, made on first use: it belongs to the loop that serves."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=60),
                timeout=aiohttp.ClientTimeout(total=self.timeouts.total, connect=self.timeouts.connect),
                auto_decompress=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=_AUTOMATIC,
                read_bufsize=_KEPT_RECEIVED,
                max_line_size=self._limits.header,
                max_field_size=self._limits.header,
            )
        return self._session

    async def send(self, base: str, outgoing: Outgoing, broken: Callable[[str], None]) -> Answer:
        """Send a request to a replica and wait for its answer's head. `broken` is told the code of a failure
        that comes later.

        UpstreamError 502 where it can't be reached or breaks the connection, 504 where it is too slow.
        """
        await self._enter(base)
        try:
            until = asyncio.get_running_loop().time() + self.timeouts.total
            response = await self._request(base, outgoing, until)
            if response.status not in _STATUSES:
                response.close()
                raise UpstreamError(
                    502,
                    f"the upstream {base} answered with status {response.status}, which HTTP doesn't have",
                    "upstream_broken",
                )
        except BaseException:
            self._leave()
            raise
        patience = Patience(self.timeouts.between_chunks, self.timeouts.total, until)
        return Answer(
            response.status, list(response.raw_headers), (), response, patience, broken, _once(self._leave)
        )

    async def open_websocket(
        self, base: str, outgoing: Outgoing, protocols: list[str], limit: int
    ) -> aiohttp.ClientWebSocketResponse:
        """Open a WebSocket to a replica, to be given back with `hang_up`. `limit`: bytes of a message.

        UpstreamError as for `send`, and with the upstream's own status where it refuses.
        """
        await self._enter(base)
        try:
            async with asyncio.timeout(self.timeouts.first_byte):
                return await self.client.ws_connect(
                    URL(base + outgoing.path, encoded=True),
                    headers=_fields(outgoing.headers),
                    protocols=protocols,
                    max_msg_size=limit,
                    timeout=aiohttp.ClientWSTimeout(ws_close=self.timeouts.connect),
                )
        except aiohttp.WSServerHandshakeError as error:
            self._leave()
            raise UpstreamError(
                error.status if error.status >= 400 else 502,
                f"the upstream {base} refused the WebSocket with status {error.status}",
                "upstream_refused",
            ) from None
        except (aiohttp.ClientError, OSError) as error:
            self._leave()
            raise self._failure(base, error, late=False) from None
        except BaseException:
            self._leave()
            raise

    async def hang_up(self, websocket: aiohttp.ClientWebSocketResponse) -> None:
        """Close a WebSocket, if it isn't closed yet, and give its connection back."""
        try:
            await websocket.close(code=aiohttp.WSCloseCode.GOING_AWAY)
        finally:
            self._leave()

    async def _enter(self, base: str) -> None:
        if self._free.locked():
            try:
                async with asyncio.timeout(self.timeouts.pool_wait):
                    await self._free.acquire()
            except TimeoutError:
                raise UpstreamError(
                    504,
                    f"all {self._limits.connections} connections to the upstream {base} were in use for "
                    f"{self.timeouts.pool_wait:g} s (limits.connections, timeouts.pool_wait)",
                    "upstream_pool_wait",
                ) from None
        else:
            await self._free.acquire()
        self.in_flight += 1

    def _leave(self) -> None:
        self._free.release()
        self.in_flight -= 1
        if self.in_flight == 0 and self._idle is not None:
            self._idle.set()

    async def _request(self, base: str, outgoing: Outgoing, until: float) -> aiohttp.ClientResponse:
        body: Any = outgoing.body() if callable(outgoing.body) else outgoing.body
        if isinstance(body, bytes) and len(body) > _AT_ONCE:
            # In pieces, as aiohttp asks for bodies of this size.
            body = BytesIO(body)
        try:
            async with asyncio.timeout(self.timeouts.first_byte):
                return await self.client.request(
                    outgoing.method,
                    URL(base + outgoing.path, encoded=True),
                    headers=_fields(outgoing.headers),
                    data=body,
                    allow_redirects=False,
                )
        except (aiohttp.ClientError, OSError) as error:
            late = asyncio.get_running_loop().time() >= until
            raise self._failure(base, error, late=late) from None

    def _failure(self, base: str, error: Exception, *, late: bool) -> UpstreamError:
        """What a failure to get an answer's head is. Only where no connection was made is it certain that the
        request was not processed.
        """
        if isinstance(error, aiohttp.ConnectionTimeoutError):
            return UpstreamError(
                504,
                f"no connection to the upstream {base} within {self.timeouts.connect:g} s (timeouts.connect)",
                "upstream_connect_timeout",
                unprocessed=True,
            )
        if isinstance(error, TimeoutError):
            name = "total" if late else "first_byte"
            return UpstreamError(
                504,
                f"the upstream {base} gave no answer within {getattr(self.timeouts, name):g} s "
                f"(timeouts.{name})",
                "upstream_timeout",
            )
        if isinstance(error, aiohttp.ClientConnectorError):
            return UpstreamError(
                502,
                f"the upstream {base} can't be reached: {said(error)}; start it, or mend its address",
                "upstream_unreachable",
                unprocessed=True,
            )
        return UpstreamError(
            502, f"the upstream {base} broke the connection: {said(error)}", "upstream_broken"
        )

    async def close(self, *, drain: bool = False) -> None:
        """Close all connections; with `drain` once what is in flight has ended."""
        try:
            if drain and self.in_flight:
                self._idle = asyncio.Event()
                await self._idle.wait()
        finally:
            if self._session is not None:
                await self._session.close()


def _fields(headers: Headers) -> CIMultiDict[str]:
    return CIMultiDict((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers)


def _once(act: Callable[[], None]) -> Callable[[], None]:
    done = False

    def acting() -> None:
        nonlocal done
        if not done:
            done = True
            act()

    return acting
