"""An environment's tools behind the gateway: the server, its name there, and what an episode's agent gets."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any

import httpx

from crosswind.gateway.client import OpenedSession, authorization
from crosswind.simulators.environment import Environment, Episode, equip
from crosswind.simulators.episodes.runner import OpenTools
from crosswind.simulators.episodes.tools import ApiTools, McpTools, Tools
from crosswind.simulators.tool_legs.leg import Leg
from crosswind.simulators.tool_servers import api
from crosswind.simulators.tool_servers.application import EPISODE, ToolServer
from crosswind.simulators.tool_servers.serving import serve

TIMEOUT_S = 60.0
"""For one call: more than a link may hang or be slow."""

Hook = Callable[[httpx.Response], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class ToolLeg:
    """An environment's tools behind the gateway, which agents call there."""

    leg: Leg
    server: ToolServer
    name: str
    """The gateway's for the server."""
    hooks: tuple[Hook, ...] = ()
    """What the agents' client does with every response."""
    trust: ssl.SSLContext = field(default_factory=httpx.create_ssl_context)

    @asynccontextmanager
    async def open(self, session: OpenedSession, episode: Episode) -> AsyncIterator[Tools]:
        """A session's tools, in the world of its episode."""
        kind = "mcp" if self.leg is Leg.MCP else "tools"
        url = f"{session.base_url.removesuffix('/v1')}/{kind}/{self.name}"
        with self.server.episodes.serve(episode) as key:
            async with httpx.AsyncClient(
                base_url=url,
                headers={EPISODE: key, "authorization": f"Bearer {session.api_key}"},
                trust_env=False,
                timeout=TIMEOUT_S,
                verify=self.trust,
                event_hooks={"response": [*self.hooks]},
            ) as http:
                yield McpTools(http, url) if self.leg is Leg.MCP else self._api_tools(http)

    def _api_tools(self, http: httpx.AsyncClient) -> ApiTools:
        equipment = equip(self.server.environment)
        methods = {tool["function"]["name"]: api.method_of(equipment, tool) for tool in equipment.tools}
        return ApiTools(http, equipment.tools, methods)


@asynccontextmanager
async def serve_tools(leg: Leg, control: str, environment: Environment) -> AsyncIterator[OpenTools]:
    """How the agents of a campaign get their tools over this leg, which isn't the model's."""
    async with open_leg(leg, environment, control) as opened:
        assert opened is not None
        yield opened.open


@asynccontextmanager
async def open_leg(
    leg: Leg, environment: Environment, control: str, *, hooks: tuple[Hook, ...] = ()
) -> AsyncIterator[ToolLeg | None]:
    """Serve the environment's tools within the block, and name the server to the gateway whose control plane
    is at this URL; None for the model's leg. httpx.HTTPError where the gateway refuses.
    """
    if leg is Leg.MODEL:
        yield None
        return
    server = ToolServer(environment)
    # Several commands may play at once, each with a server of its own.
    name = f"practice-{token_hex(4)}"
    async with (
        serve(server) as root,
        httpx.AsyncClient(base_url=control, headers=authorization(None), trust_env=False) as http,
    ):
        given = {"name": name, **_describe(leg, environment, root)}
        (await http.post("/api/tools", json=given)).raise_for_status()
        try:
            yield ToolLeg(leg, server, name, hooks)
        finally:
            await http.delete(f"/api/tools/{name}")


def _describe(leg: Leg, environment: Environment, root: str) -> dict[str, Any]:
    """The server, as the control plane takes it."""
    repeatable = [*environment.repeatable, *environment.read_only]
    if leg is Leg.MCP:
        return {"kind": "mcp", "url": f"{root}/mcp", "may_repeat": repeatable}
    document = api.describe(environment.name, equip(environment))
    return {"kind": "api", "url": f"{root}/api", "may_repeat": repeatable, "document": document}
