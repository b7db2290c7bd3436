"""WebSocket connections to the replicas of an upstream, made with aiohttp."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from crosswind.gateway.config.sections import Timeouts
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


@asynccontextmanager
async def open_websocket(
    pool: Pool, base: str, outgoing: UpstreamRequest, protocols: list[str], limit: int
) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    """Open a WebSocket to a replica for the block; it counts as a connection of the pool. `limit`: bytes of a
    message.

    Raises UpstreamError as the pool's `send` does, or with the upstream's own status if it refuses.
    """
    timeouts = pool.timeouts
    await pool.acquire(base)
    try:
        async with aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=timeouts.total, connect=timeouts.connect),
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
        ) as client:
            try:
                async with asyncio.timeout(timeouts.first_byte):
                    websocket = await client.ws_connect(
                        URL(base + outgoing.path, encoded=True),
                        headers=_to_multidict(outgoing.headers),
                        protocols=protocols,
                        max_msg_size=limit,
                        timeout=aiohttp.ClientWSTimeout(ws_close=timeouts.connect),
                    )
            except (aiohttp.ClientError, OSError) as error:
                raise _translate_error(base, error, timeouts) from None
            try:
                yield websocket
            finally:
                await websocket.close(code=aiohttp.WSCloseCode.GOING_AWAY)
    finally:
        pool.release()


def _translate_error(base: str, error: Exception, timeouts: Timeouts) -> UpstreamError:
    """Translate an error of aiohttp. Only a failure to connect is certainly unprocessed."""
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


def _to_multidict(headers: Headers) -> CIMultiDict[str]:
    return CIMultiDict((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers)
