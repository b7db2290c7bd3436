"""An ASGI application on a free port of loopback, for as long as a block lasts."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn

_BACKLOG = 1024
"""Connections that wait to be taken: many episodes begin at once."""


@asynccontextmanager
async def serve(app: Any) -> AsyncIterator[str]:
    """Serve it within the block; gives its root URL. Signals stay with the command."""
    bound = socket.create_server(("127.0.0.1", 0), backlog=_BACKLOG)
    bound.setblocking(False)
    config = uvicorn.Config(
        app,
        loop="none",
        lifespan="off",
        ws="none",
        backlog=_BACKLOG,
        # The gateway keeps its connections open between an episode's calls.
        timeout_keep_alive=600,
        log_config=None,
    )
    config.load()
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    await server.startup([bound])
    try:
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
    finally:
        for listening in server.servers:
            listening.close()
        for connection in list(server.server_state.connections):
            connection.shutdown()
        await asyncio.gather(*server.server_state.tasks, return_exceptions=True)
