"""The supervisor accepts connections and hands them to the workers in turn.

If workers accepted from one shared listener, the one that wakes first would take nearly all of a burst. With
a listener each (SO_REUSEPORT), connections would wait in the queue of a dead worker. Handed over, they are
spread evenly, and a dead worker gets none.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque

import structlog

from crosswind.gateway.http.server import HttpServer

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
        """Deal the connections that wait to be accepted, and no more: they would be reset otherwise."""
        while self._accept():
            pass
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

    def _accept(self) -> bool:
        """Deal some connections; return whether there may be more."""
        for _ in range(_AT_ONCE):
            try:
                connection = self._held or self._listener.accept()[0]
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return False
            except OSError as error:
                _log.error("no connection can be accepted", error=str(error))
                self._wait()
                return False
            self._held = connection
            if not self._deal(connection):
                self._wait()
                return False
            self._held = None
            connection.close()
        return True

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
    """A server of connections that the supervisor accepted and sends over a socket pair."""

    async def start(self, listener: socket.socket) -> None:
        """Receive connections. `listener`: our end of the socket pair."""
        listener.setblocking(False)
        self._end = listener
        asyncio.get_running_loop().add_reader(listener.fileno(), self._receive)
        self.table.start()
        self.up.set()

    def accept_last(self) -> None:
        """Receive the connections that were sent, and no more."""
        while self._end.fileno() >= 0 and self._receive():
            pass
        self._stop_receiving()

    def _receive(self) -> bool:
        """Receive some connections; return whether there may be more."""
        for _ in range(_AT_ONCE):
            try:
                data, descriptors, _, _ = socket.recv_fds(self._end, 1, 1)
            except (BlockingIOError, InterruptedError):
                return False
            except OSError:
                data = b""
            if not data:
                self._stop_receiving()
                return False
            for descriptor in descriptors:
                self.connect(socket.socket(fileno=descriptor))
        return True

    def _stop_receiving(self) -> None:
        if self._end.fileno() >= 0:
            asyncio.get_running_loop().remove_reader(self._end.fileno())
            self._end.close()
