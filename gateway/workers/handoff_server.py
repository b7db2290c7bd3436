"""A server of connections that another process accepted."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import structlog

from crosswind.gateway.config.settings import Settings
from crosswind.gateway.http.server import HttpServer, server_config
from crosswind.gateway.workers.handoff import Receiver

_log = structlog.get_logger("crosswind.workers")


class HandedServer(HttpServer):
    """Serves what comes over `end`; stops to take more when it is told to stop."""

    def __init__(self, settings: Settings, app: Any, end: socket.socket) -> None:
        super().__init__(server_config(settings, app, websockets=True))
        self._end = end
        self._receiver: Receiver | None = None
        self._connecting: set[asyncio.Task[Any]] = set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start with no listener of its own."""
        self._receiver = Receiver(self._end, self._take)
        await super().startup(sockets=[])

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no more connections and drain."""
        assert self._receiver is not None
        self._receiver.close()
        await asyncio.gather(*self._connecting, return_exceptions=True)
        await super().shutdown(sockets)

    def _take(self, connection: socket.socket) -> None:
        connecting = asyncio.get_running_loop().create_task(self._connect(connection))
        self._connecting.add(connecting)
        connecting.add_done_callback(self._connecting.discard)

    async def _connect(self, connection: socket.socket) -> None:
        try:
            await asyncio.get_running_loop().connect_accepted_socket(self._protocol, connection)
        except OSError as error:
            _log.debug("a connection was gone before it was taken", error=str(error))
            connection.close()

    def _protocol(self) -> asyncio.Protocol:
        make: Callable[..., asyncio.Protocol] = self.config.http_protocol_class
        return make(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)
