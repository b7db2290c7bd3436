"""WebSocket connections to the replicas of an upstream, made with aiohttp."""

from __future__ import annotations

import asyncio

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from crosswind.gateway.errors import UpstreamError
from crosswind.gateway.http.headers import Headers
from crosswind.gateway.upstreams.pool import (
    Pool,
    make_broken_error,
    make_connect_timeout_error,
    make_timeout_error,
    make_unreachable_error,
)
from crosswind.gateway.upstreams.request import UpstreamRequest


class WebSocketClient:
    """Opens WebSockets. Each counts as a connection of the pool."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._session: aiohttp.ClientSession | None = None

    @property
    def client(self) -> aiohttp.ClientSession:
        """The HTTP session, made on first use because it belongs to the running loop."""
        if self._session is None:
            timeouts = self._pool.timeouts
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=60),
                timeout=aiohttp.ClientTimeout(total=timeouts.total, connect=timeouts.connect),
                auto_decompress=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
            )
        return self._session

    async def open(
        self, base: str, outgoing: UpstreamRequest, protocols: list[str], limit: int
    ) -> aiohttp.ClientWebSocketResponse:
        """Open a WebSocket to a replica; close it with `close_websocket`. `limit`: bytes of a message.

        Raises UpstreamError as the pool's `send` does, or with the upstream's own status if it refuses.
        """
        timeouts = self._pool.timeouts
        await self._pool.acquire(base)
        try:
            async with asyncio.timeout(timeouts.first_byte):
                return await self.client.ws_connect(
                    URL(base + outgoing.path, encoded=True),
                    headers=_to_multidict(outgoing.headers),
                    protocols=protocols,
                    max_msg_size=limit,
                    timeout=aiohttp.ClientWSTimeout(ws_close=timeouts.connect),
                )
        except BaseException as error:
            self._pool.release()
            if isinstance(error, aiohttp.ClientError | OSError):
                raise self._translate_error(base, error) from None
            raise

    def _translate_error(self, base: str, error: Exception) -> UpstreamError:
        """Translate an error of aiohttp. Only a failure to connect is certainly unprocessed."""
        timeouts = self._pool.timeouts
        if isinstance(error, aiohttp.WSServerHandshakeError):
            return UpstreamError(
                error.status if error.status >= 400 else 502,
                f"the upstream {base} refused the WebSocket with status {error.status}",
                "upstream_refused",
            )
        if isinstance(error, aiohttp.ConnectionTimeoutError):
            return make_connect_timeout_error(base, timeouts)
        if isinstance(error, TimeoutError):
            return make_timeout_error(base, timeouts, "first_byte")
        if isinstance(error, aiohttp.ClientConnectorError):
            return make_unreachable_error(base, error)
        return make_broken_error(base, error)

    async def close_websocket(self, websocket: aiohttp.ClientWebSocketResponse) -> None:
        """Close a WebSocket and give its reservation back."""
        try:
            await websocket.close(code=aiohttp.WSCloseCode.GOING_AWAY)
        finally:
            self._pool.release()

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()


def _to_multidict(headers: Headers) -> CIMultiDict[str]:
    return CIMultiDict((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers)
