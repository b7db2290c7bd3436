"""The supervisor accepts connections and hands them to the workers in turn.

If workers accepted from one shared listener, the one that wakes first would take nearly all of a burst. With
a listener each (SO_REUSEPORT), connections would wait in the queue of a dead worker. Handed over, they are
spread evenly, and a dead worker gets none.

A worker can send a connection back for another worker, with what it read of a request. If that one can't take
it, the sender gets it back.
"""

from __future__ import annotations

import asyncio
import os
import socket
import tempfile
from collections import deque
from pathlib import Path

import structlog

from crosswind.gateway.http.server import HttpServer

_log = structlog.get_logger("crosswind.workers")

_AT_ONCE = 64
_NEW, _MOVED, _RETURNED = b"c", b"m", b"r"
"""What the supervisor sends with a connection. A worker sends the number of the one that is to have it."""
_PAUSE_S = 0.02
"""How long to wait if no worker's queue has room, or the process has no file descriptors left."""


class Dealer:
    """Accepts connections and deals them to the receivers. Without receivers they wait in the backlog."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._receivers: deque[socket.socket] = deque()
        self._ends: dict[int, socket.socket] = {}
        """Our ends by the workers' numbers, as long as the workers live."""
        self._reading = False
        self._held: socket.socket | None = None

    def add(self, receiver: socket.socket, number: int = 0) -> None:
        """Add a worker; `receiver` is our end of its socket pair."""
        self._receivers.append(receiver)
        self._ends[number] = receiver
        asyncio.get_running_loop().add_reader(receiver.fileno(), self._move, receiver)
        self._resume()

    def remove(self, receiver: socket.socket) -> None:
        if receiver in self._receivers:
            self._receivers.remove(receiver)
        for number in [number for number, end in self._ends.items() if end is receiver]:
            del self._ends[number]
        if receiver.fileno() >= 0:
            asyncio.get_running_loop().remove_reader(receiver.fileno())
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
                socket.send_fds(receiver, [_NEW], [connection.fileno()])
            except OSError:
                continue  # its queue is full, or it just died: its end is noticed elsewhere
            return True
        return False

    def _move(self, sender: socket.socket) -> None:
        """Pass on the connection that a worker sends for another one, or give it back."""
        try:
            data, descriptors, _, _ = socket.recv_fds(sender, 1, 2)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data, descriptors = b"", []
        if not data:
            asyncio.get_running_loop().remove_reader(sender.fileno())
            return
        for end, what in ((self._ends.get(data[0]), _MOVED), (sender, _RETURNED)):
            try:
                if end is not None:
                    socket.send_fds(end, [what], descriptors)
                    break
            except OSError:
                continue
        for descriptor in descriptors:
            os.close(descriptor)


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

    def hand_on(self, folder: Path, number: int, connection: socket.socket, begun: bytes) -> bool:
        """Send a connection to another worker, with what was read of its request; False where that can't be.
        The bytes go in a file of the private folder, since they may be more than a socket pair holds.
        """
        try:
            with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
                file.write(begun)
                socket.send_fds(self._end, [bytes([number])], [connection.fileno(), file.fileno()])
        except OSError:
            return False
        return True

    def _receive(self) -> bool:
        """Receive some connections; return whether there may be more."""
        for _ in range(_AT_ONCE):
            try:
                data, descriptors, _, _ = socket.recv_fds(self._end, 1, 2)
            except (BlockingIOError, InterruptedError):
                return False
            except OSError:
                data = b""
            if not data:
                self._stop_receiving()
                return False
            if len(descriptors) < (1 if data == _NEW else 2):
                # A process that has no file descriptors left gets fewer than were sent.
                for descriptor in descriptors:
                    os.close(descriptor)
                continue
            begun = b""
            for descriptor in descriptors[1:]:
                with os.fdopen(descriptor, "rb") as file:
                    file.seek(0)
                    begun = file.read()
            self.connect(socket.socket(fileno=descriptors[0]), begun, stays=data == _RETURNED)
        return True

    def _stop_receiving(self) -> None:
        if self._end.fileno() >= 0:
            asyncio.get_running_loop().remove_reader(self._end.fileno())
            self._end.close()
