"""An ASGI application on a loopback port, for as long as a block lasts."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn

_BACKLOG = 1024
"""Connections that wait to be taken: many episodes begin at once."""


def listen(port: int = 0) -> socket.socket:
    """A socket that listens on loopback; 0: on a free port."""
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.bind(("127.0.0.1", port))
    bound.listen(_BACKLOG)
    bound.setblocking(False)
    return bound


@asynccontextmanager
async def run_server(server: uvicorn.Server, bound: socket.socket) -> AsyncIterator[str]:
    """Run a server within the block; gives its root URL."""
    # Without uvicorn's own main loop and shutdown, which take tenths of a second to notice that they are to
    # end.
    server.config.load()
    server.lifespan = server.config.lifespan_class(server.config)
    await server.startup([bound])
    try:
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
    finally:
        for listening in server.servers:
            listening.close()
        for connection in list(server.server_state.connections):
            connection.shutdown()
        await asyncio.gather(*server.server_state.tasks, return_exceptions=True)


def make_server(app: Any) -> uvicorn.Server:
    """A quiet server of an application."""
    # A long keep-alive, so that a client on a busy machine doesn't find its connection closed.
    return uvicorn.Server(
        uvicorn.Config(
            app,
            loop="none",
            lifespan="off",
            ws="none",
            timeout_keep_alive=600,
            log_config=None,
            server_header=False,
            date_header=False,
        )
    )
