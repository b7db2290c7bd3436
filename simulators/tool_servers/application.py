"""The ASGI application that serves an environment's tools: MCP at /mcp, the API under /api.

Each request says in a header which episode it is of: it has its own world.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from crosswind.simulators.environment import Environment, Episode
from crosswind.simulators.tool_servers import api, mcp

EPISODE = "x-episode"
"""The header that names the episode."""
DOCUMENT = "/api/openapi.json"
LARGEST_BODY = 1 << 20

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]


class ToolServer:
    """Serves the tools of the episodes that are in play."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self._episodes: dict[str, Episode] = {}

    @contextmanager
    def serve(self, episode: Episode) -> Iterator[str]:
        """Serve an episode's tools within the block; gives the header's value."""
        key = secrets.token_hex(8)
        self._episodes[key] = episode
        try:
            yield key
        finally:
            del self._episodes[key]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body, more = b"", True
        while more and len(body) <= LARGEST_BODY:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        status, text = self._answer(scope, body) if not more else _refuse(413, "the body is above 1 MiB")
        length = str(len(text.encode())).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", length)]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": text.encode()})

    def _answer(self, scope: Scope, body: bytes) -> tuple[int, str]:
        method, path = scope["method"], scope["path"]
        if path == DOCUMENT:
            return 200, json.dumps(api.describe(self.environment))
        key = dict(scope["headers"]).get(EPISODE.encode(), b"").decode("latin-1")
        episode = self._episodes.get(key)
        if episode is None:
            return _refuse(404, f"{EPISODE}: there is no episode {key!r}; send the header of one in play")
        if path == "/mcp":
            if method != "POST":
                return _refuse(405, "send POST")
            said = mcp.answer(self.environment, episode, body)
            return (202, "") if said is None else (200, json.dumps(said))
        if path.startswith("/api/"):
            query = scope["query_string"]
            return api.answer(self.environment, episode, method, path.removeprefix("/api"), query, body)
        return _refuse(404, f"there is no {path}; MCP is at /mcp, the API under /api")


def _refuse(status: int, why: str) -> tuple[int, str]:
    return status, json.dumps({"error": why})
