"""The supervisor accepts connections and hands them to the workers in turn.

If workers accepted from one shared listener, the one that wakes first would take nearly all of a burst. With
a listener each (SO_REUSEPORT), connections would wait in the queue of a dead worker. Handed over, they are
spread evenly, and a dead worker gets none.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Callable
from typing import Any

import structlog

from crosswind.gateway.config.settings import Settings
from crosswind.gateway.http.server import HttpServer, server_config

_log = structlog.get_logger("crosswind.workers")

_AT_ONCE = 64
_PAUSE_S = 0.02
"""How long to wait if no worker's queue has room, or the process has no file descriptors left."""


class Dealer:
    """Accepts connections and deals them to the receivers. Without receivers they wait in the backlog."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._receivers: deque[socket.socket] = deque()
        self._reading = False
        self._held: socket.socket | None = None

    def add(self, receiver: socket.socket) -> None:
        """Add a worker; `receiver` is our end of its socket pair."""
        self._receivers.append(receiver)
        self._resume()

    def remove(self, receiver: socket.socket) -> None:
        if receiver in self._receivers:
            self._receivers.remove(receiver)
        if not self._receivers:
            self._pause()

    def close(self) -> None:
        """Stop accepting. Connections in the backlog are refused once no process holds the listener."""
        self._pause()
        self._receivers.clear()
        self._listener.close()
        if self._held is not None:
            self._held.close()

    def _resume(self) -> None:
        if self._receivers and not self._reading and self._listener.fileno() >= 0:
            asyncio.get_running_loop().add_reader(self._listener.fileno(), self._accept)
            self._reading = True

    def _pause(self) -> None:
        if self._reading:
            asyncio.get_running_loop().remove_reader(self._listener.fileno())
            self._reading = False

    def _wait(self) -> None:
        self._pause()
        asyncio.get_running_loop().call_later(_PAUSE_S, self._resume)

    def _accept(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                connection = self._held or self._listener.accept()[0]
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                _log.error("no connection can be accepted", error=str(error))
                return self._wait()
            self._held = connection
            if not self._deal(connection):
                return self._wait()
            self._held = None
            connection.close()

    def _deal(self, connection: socket.socket) -> bool:
        """Hand the connection to the next worker with room; return False if none has."""
        for _ in range(len(self._receivers)):
            receiver = self._receivers[0]
            self._receivers.rotate(-1)
            try:
                socket.send_fds(receiver, [b"c"], [connection.fileno()])
            except OSError:
                continue  # its queue is full, or it just died: its end is noticed elsewhere
            return True
        return False


class HandedServer(HttpServer):
    """A server of connections that the supervisor accepted and sends over `end`."""

    def __init__(self, settings: Settings, app: Any, end: socket.socket) -> None:
        super().__init__(server_config(settings, app, websockets=True))
        end.setblocking(False)
        self._end = end
        self._connecting: set[asyncio.Task[None]] = set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start without a listener."""
        asyncio.get_running_loop().add_reader(self._end.fileno(), self._receive)
        await super().startup(sockets=[])

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop receiving connections and drain."""
        self._stop_receiving()
        await asyncio.gather(*self._connecting, return_exceptions=True)
        await super().shutdown(sockets)

    def _receive(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                data, descriptors, _, _ = socket.recv_fds(self._end, 1, 1)
            except (BlockingIOError, InterruptedError):
                return
            except OSError:
                data = b""
            if not data:
                return self._stop_receiving()
            for descriptor in descriptors:
                connecting = asyncio.create_task(self._connect(socket.socket(fileno=descriptor)))
                self._connecting.add(connecting)
                connecting.add_done_callback(self._connecting.discard)

    def _stop_receiving(self) -> None:
        if self._end.fileno() >= 0:
            asyncio.get_running_loop().remove_reader(self._end.fileno())
            self._end.close()

    async def _connect(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        try:
            await asyncio.get_running_loop().connect_accepted_socket(self._make_protocol, connection)
        except OSError as error:
            _log.debug("a connection was gone before it was taken", error=str(error))
            connection.close()

    def _make_protocol(self) -> asyncio.Protocol:
        make: Callable[..., asyncio.Protocol] = self.config.http_protocol_class
        return make(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)
