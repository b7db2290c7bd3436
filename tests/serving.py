"""Run a server on a thread of its own, for tests that speak to it from synchronous code."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn


@contextmanager
def serve_in_thread(server: uvicorn.Server, port: int = 0) -> Iterator[str]:
    """Serve on this port of the loopback within the block, 0: on a free one. Yields the root URL."""
    with socket.create_server(("127.0.0.1", port)) as listener:
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
