"""A way to a server that can be cut, and given back: the server itself goes on."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress


class Forwarder:
    """A port of the loopback that leads to another one of it, while it is up."""

    def __init__(self, to: int) -> None:
        self.to = to
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._thread = self._accept()

    def down(self) -> None:
        """Refuse connections, and break those that there are."""
        for one in (self._listener, *self._open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        self._open.clear()
        self._thread.join()

    def up(self) -> None:
        """Take connections again, at the same port."""
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self._thread = self._accept()

    def _accept(self) -> threading.Thread:
        listener = self._listener

        def run() -> None:
            while True:
                try:
                    near, _ = listener.accept()
                except OSError:
                    return
                far = socket.create_connection(("127.0.0.1", self.to))
                self._open |= {near, far}
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=_pump, args=(source, sink), daemon=True).start()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(65536):
            sink.sendall(piece)
    for one in (source, sink):
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
