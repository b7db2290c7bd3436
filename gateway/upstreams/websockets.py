"""WebSocket connections to the replicas of an upstream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidHandshake, InvalidStatus
from websockets.typing import Subprotocol

from crosswind.gateway.config.sections import Timeouts
from crosswind.gateway.errors import UpstreamError
from crosswind.gateway.upstreams.pool import (
    Pool,
    make_broken_error,
    make_connect_timeout_error,
    make_timeout_error,
    make_unreachable_error,
)
from crosswind.gateway.upstreams.request import UpstreamRequest

_GOING_AWAY = 1001


class _Unreachable(Exception):
    """No connection: nothing was sent."""


class _Handshake(connect):
    """An attempt that tells a failure to connect from a failed handshake, and follows no redirect."""

    connect_timeout: float | None = None

    async def create_connection(self) -> ClientConnection:
        try:
            async with asyncio.timeout(self.connect_timeout):
                return await super().create_connection()
        except OSError as error:  # a TimeoutError, too
            raise _Unreachable from error

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


@asynccontextmanager
async def open_websocket(
    pool: Pool, base: str, outgoing: UpstreamRequest, protocols: list[str], limit: int
) -> AsyncIterator[ClientConnection]:
    """Open a WebSocket to a replica for the block; it counts as a connection of the pool. `limit`: bytes of a
    message.

    Raises UpstreamError as the pool's `send` does, or with the upstream's own status if it refuses.
    """
    timeouts = pool.timeouts
    await pool.acquire(base)
    try:
        handshake = _Handshake(
            base.replace("http", "ws", 1) + outgoing.path,
            additional_headers=_to_text(outgoing.headers),
            subprotocols=[Subprotocol(one) for one in protocols] or None,
            user_agent_header=None,
            compression=None,
            proxy=None,
            ping_interval=None,
            open_timeout=timeouts.first_byte,
            close_timeout=timeouts.connect,
            max_size=limit,
        )
        handshake.connect_timeout = timeouts.connect
        try:
            websocket = await handshake
        except (_Unreachable, InvalidHandshake, OSError, EOFError, ValueError) as error:
            raise _translate_error(base, error, timeouts) from None
        try:
            yield websocket
        finally:
            await websocket.close(_GOING_AWAY)
    finally:
        pool.release()


def _translate_error(base: str, error: Exception, timeouts: Timeouts) -> UpstreamError:
    """Translate a library's error. Only a failure to connect is certainly unprocessed."""
    if isinstance(error, InvalidStatus):
        status = error.response.status_code
        return UpstreamError(
            status if status >= 400 else 502,
            f"the upstream {base} refused the WebSocket with status {status}",
            "upstream_refused",
        )
    if isinstance(error, TimeoutError):
        return make_timeout_error(base, timeouts, "first_byte")
    if isinstance(error, _Unreachable) and isinstance(error.__cause__, TimeoutError):
        return make_connect_timeout_error(base, timeouts)
    if isinstance(error, _Unreachable) and isinstance(error.__cause__, OSError):
        return make_unreachable_error(base, error.__cause__)
    return make_broken_error(base, error)


def _to_text(headers: Sequence[tuple[bytes, bytes]]) -> list[tuple[str, str]]:
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers]
