"""The practice domain's tools behind the gateway: served in this process, and called over a tool leg."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from crosswind.gateway.client import OpenedSession, authorization
from crosswind.gateway.tools.events import CALL
from crosswind.gateway.trajectory.record import WIRE
from crosswind.simulators.environment import Environment, Episode, equip
from crosswind.simulators.episodes.tools import ApiTools, McpTools, Tools
from crosswind.simulators.tool_servers import api
from crosswind.simulators.tool_servers.application import EPISODE, ToolServer
from crosswind.studies.prove.cases import Leg
from crosswind.studies.prove.content_types import refuse_other_types
from crosswind.studies.stack import RunningGateway
from crosswind.testing.server import listen, make_server, run_server

_NAME = "practice"
TIMEOUT_S = 60.0
"""For one call: more than a link may hang or be slow."""


@dataclass(frozen=True, slots=True)
class ToolLeg:
    """The tools that the agents of a study call through the gateway."""

    leg: Leg
    server: ToolServer
    gateway: RunningGateway

    @asynccontextmanager
    async def open(self, session: OpenedSession, episode: Episode) -> AsyncIterator[Tools]:
        """A session's tools, in the world of its episode."""
        kind = "mcp" if self.leg is Leg.MCP else "tools"
        url = f"{self.gateway.data}/s/{session.id}/{kind}/{_NAME}"
        with self.server.episodes.serve(episode) as key:
            async with httpx.AsyncClient(
                base_url=url,
                headers={EPISODE: key},
                trust_env=False,
                timeout=TIMEOUT_S,
                event_hooks={"response": [refuse_other_types]},
            ) as http:
                yield McpTools(http, url) if self.leg is Leg.MCP else self._api_tools(http)

    def _api_tools(self, http: httpx.AsyncClient) -> ApiTools:
        equipment = equip(self.server.environment)
        methods = {tool["function"]["name"]: api.method_of(equipment, tool) for tool in equipment.tools}
        return ApiTools(http, equipment.tools, methods)


@asynccontextmanager
async def open_leg(
    leg: Leg, environment: Environment, gateway: RunningGateway
) -> AsyncIterator[ToolLeg | None]:
    """Serve the environment's tools within the block, and name the server to the gateway; None for the
    model's leg."""
    if leg is Leg.MODEL:
        yield None
        return
    server = ToolServer(environment)
    async with run_server(make_server(server), listen()) as root:
        repeatable = [*environment.repeatable, *environment.read_only]
        given: dict[str, Any] = {"name": _NAME, "may_repeat": repeatable}
        if leg is Leg.MCP:
            given |= {"kind": "mcp", "url": f"{root}/mcp"}
        else:
            given |= {
                "kind": "api",
                "url": f"{root}/api",
                "document": api.describe(environment.name, equip(environment)),
            }
        async with httpx.AsyncClient(headers=authorization(None), trust_env=False) as http:
            (await http.post(f"{gateway.control}/api/tools", json=given)).raise_for_status()
        yield ToolLeg(leg, server, gateway)


def injections_on_wire(events: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Those of a session's events that are noise on a tool leg."""
    return [one for one in events if one["anchor"].startswith(WIRE) and one["operator"] != CALL]
