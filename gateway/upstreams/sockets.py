"""WebSockets to an upstream's replicas, by aiohttp: its own client for a protocol of its own."""

from __future__ import annotations

import asyncio

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from crosswind.gateway.errors import UpstreamError
from crosswind.gateway.http.headers import Headers
from crosswind.gateway.upstreams.pool import Pool, first_line
from crosswind.gateway.upstreams.request import UpstreamRequest


class WebSocketClient:
    """WebSockets, each of which takes the place of a connection in the pool."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._session: aiohttp.ClientSession | None = None

    @property
    def client(self) -> aiohttp.ClientSession:
        """The client, made on first use: it belongs to the loop that serves."""
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
        """Open a WebSocket to a replica, to be given back with `hang_up`. `limit`: bytes of a message.

        UpstreamError as for the pool's `send`, and with the upstream's own status where it refuses.
        """
        timeouts = self._pool.timeouts
        await self._pool.enter(base)
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
            self._pool.leave()
            if isinstance(error, aiohttp.ClientError | OSError):
                raise self._failure(base, error) from None
            raise

    def _failure(self, base: str, error: Exception) -> UpstreamError:
        """What a failure to open one is. Only where no connection was made it is worth another try."""
        timeouts = self._pool.timeouts
        if isinstance(error, aiohttp.WSServerHandshakeError):
            return UpstreamError(
                error.status if error.status >= 400 else 502,
                f"the upstream {base} refused the WebSocket with status {error.status}",
                "upstream_refused",
            )
        if isinstance(error, aiohttp.ConnectionTimeoutError):
            return UpstreamError(
                504,
                f"no connection to the upstream {base} within {timeouts.connect:g} s (timeouts.connect)",
                "upstream_connect_timeout",
                unprocessed=True,
            )
        if isinstance(error, TimeoutError):
            return UpstreamError(
                504,
                f"the upstream {base} gave no answer within {timeouts.first_byte:g} s (timeouts.first_byte)",
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

    async def hang_up(self, websocket: aiohttp.ClientWebSocketResponse) -> None:
        """Close a WebSocket, if it isn't closed yet, and give its place back."""
        try:
            await websocket.close(code=aiohttp.WSCloseCode.GOING_AWAY)
        finally:
            self._pool.leave()

    async def close(self) -> None:
        """Close all of them."""
        if self._session is not None:
            await self._session.close()


def _to_multidict(headers: Headers) -> CIMultiDict[str]:
    return CIMultiDict((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers)
