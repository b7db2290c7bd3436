"""An environment's tools behind the gateway: the server, its name there, and what an episode's agent gets.

Over stdio each episode has a relay of its own, which attaches itself to the episode's session.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import Any

import httpx

from crosswind.gateway.client import OpenedSession, authorization
from crosswind.loopback_server import listen, make_server, run_server
from crosswind.simulators.environment import Environment, Episode, equip
from crosswind.simulators.episodes.runner import OpenTools
from crosswind.simulators.episodes.tools import ApiTools, McpOverHttp, McpOverStdio, McpTools, Tools
from crosswind.simulators.tool_legs.leg import Leg
from crosswind.simulators.tool_servers import api, stdio
from crosswind.simulators.tool_servers.application import EPISODE, ToolServer

TIMEOUT_S = 60.0
"""For one call: more than a link may hang or be slow."""
_LONGEST_LINE = 16 << 20
_END_S = 60.0
"""How long a relay may take to send its last events and to end."""

Hook = Callable[[httpx.Response], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Relay:
    """Starts relays before the environment's server over stdio."""

    control: str
    root: str
    """The URL of the server over HTTP, which the one over stdio asks."""
    may_repeat: tuple[str, ...]
    state: Path
    """Where the relays keep events that aren't delivered yet."""

    @asynccontextmanager
    async def open(self, session: str, name: str, episode: str) -> AsyncIterator[Tools]:
        """The tools of one episode. At the end all of its events are with the gateway."""
        flags = ["--control", self.control, "--session", session, "--name", name]
        flags += [flag for tool in self.may_repeat for flag in ("--may-repeat", tool)]
        server = [sys.executable, "-I", "-S", stdio.__file__, self.root, episode]
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "crosswind.gateway.cli", "mcp", *flags, "--", *server),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "XDG_STATE_HOME": str(self.state)},
            limit=_LONGEST_LINE,
        )
        try:
            yield McpTools(McpOverStdio(process, TIMEOUT_S))
            assert process.stdin is not None
            process.stdin.close()
            await asyncio.wait_for(process.wait(), _END_S)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


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
    relay: Relay | None = None
    """How relays are started, over stdio."""

    @asynccontextmanager
    async def open(self, session: OpenedSession, episode: Episode) -> AsyncIterator[Tools]:
        """A session's tools, in the world of its episode."""
        if self.relay is not None:
            with self.server.episodes.serve(episode) as key:
                async with self.relay.open(session.id, self.name, key) as tools:
                    yield tools
            return
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
                yield McpTools(McpOverHttp(http, url)) if self.leg is Leg.MCP else self._api_tools(http)

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
    if leg is Leg.STDIO:
        with TemporaryDirectory(prefix="crosswind-") as state:
            async with run_server(make_server(server), listen()) as root:
                relay = Relay(control, root, _repeatable(environment), Path(state))
                yield ToolLeg(leg, server, name, hooks, relay=relay)
        return
    async with (
        run_server(make_server(server), listen()) as root,
        httpx.AsyncClient(base_url=control, headers=authorization(None), trust_env=False) as http,
    ):
        given = {"name": name, **_describe(leg, environment, root)}
        (await http.post("/api/tools", json=given)).raise_for_status()
        try:
            yield ToolLeg(leg, server, name, hooks)
        finally:
            await http.delete(f"/api/tools/{name}")


def _repeatable(environment: Environment) -> tuple[str, ...]:
    """The tools whose calls may be delivered twice."""
    return (*environment.repeatable, *environment.read_only)


def _describe(leg: Leg, environment: Environment, root: str) -> dict[str, Any]:
    """The server, as the control plane takes it."""
    repeatable = _repeatable(environment)
    if leg is Leg.MCP:
        return {"kind": "mcp", "url": f"{root}/mcp", "may_repeat": repeatable}
    document = api.describe(environment.name, equip(environment))
    return {"kind": "api", "url": f"{root}/api", "may_repeat": repeatable, "document": document}
