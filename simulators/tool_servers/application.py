"""The ASGI application that serves an environment's tools: MCP at /mcp, the API under /api, episodes at
/episodes.

Each call says in a header which episode it is of: each has its own world.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from crosswind.simulators.environment import Environment
from crosswind.simulators.tool_servers import api, mcp
from crosswind.simulators.tool_servers.episodes import EpisodesInPlay

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
        self.episodes = EpisodesInPlay(environment)

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
        if path == "/episodes" or path.startswith("/episodes/"):
            status, value = self.episodes.answer(method, path.removeprefix("/episodes").strip("/"), body)
            return status, json.dumps(value)
        return self._answer_call(scope, body)

    def _answer_call(self, scope: Scope, body: bytes) -> tuple[int, str]:
        method, path = scope["method"], scope["path"]
        key = dict(scope["headers"]).get(EPISODE.encode(), b"").decode("latin-1")
        episode = self.episodes.find(key)
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
