"""The ASGI application that serves an environment's tools: MCP at /mcp, the API under /api, episodes at
/episodes.

Each call says in a header which episode it is of: each has its own world.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from crosswind.simulators.environment import Environment, Episode, Equipment, equip
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
        self._common = equip(environment)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body, more = b"", True
        while more and len(body) <= LARGEST_BODY:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        status, text = _refuse(413, "the body is above 1 MiB") if more else await self._answer(scope, body)
        length = str(len(text.encode())).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", length)]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": text.encode()})

    async def _answer(self, scope: Scope, body: bytes) -> tuple[int, str]:
        method, path = scope["method"], scope["path"]
        if path == "/episodes" or path.startswith("/episodes/"):
            key = path.removeprefix("/episodes").strip("/")
            status, value = await self.episodes.answer(method, key, body)
            return status, json.dumps(value)
        key = dict(scope["headers"]).get(EPISODE.encode(), b"").decode("latin-1")
        episode = self.episodes.find(key)
        if path == DOCUMENT:
            return 200, json.dumps(api.describe(self.environment.name, self._equipment(episode)))
        if episode is None:
            return _refuse(404, f"{EPISODE}: there is no episode {key!r}; send the header of one in play")
        return await self._answer_call(scope, episode, body)

    async def _answer_call(self, scope: Scope, episode: Episode, body: bytes) -> tuple[int, str]:
        method, path = scope["method"], scope["path"]
        if path == "/mcp":
            if method != "POST":
                return _refuse(405, "send POST")
            said = await mcp.answer(self.environment, episode, body)
            return (202, "") if said is None else (200, json.dumps(said))
        if path.startswith("/api/"):
            equipment, query = self._equipment(episode), scope["query_string"]
            return await api.answer(equipment, episode, method, path.removeprefix("/api"), query, body)
        return _refuse(404, f"there is no {path}; MCP is at /mcp, the API under /api")

    def _equipment(self, episode: Episode | None) -> Equipment:
        """What an episode has, or what every one has that brings nothing of its own."""
        return self._common if episode is None else equip(self.environment, episode)


def _refuse(status: int, why: str) -> tuple[int, str]:
    return status, json.dumps({"error": why})
