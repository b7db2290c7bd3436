"""Control routes for the servers of tools: to list them, and to give further ones while the gateway runs."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import urlsplit

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from crosswind.gateway.clock import now_us
from crosswind.gateway.config.internal_addresses import is_internal
from crosswind.gateway.config.tools import ServerName, ToolName, ToolUrl
from crosswind.gateway.control.models import Acknowledged, Body
from crosswind.gateway.errors import ServiceError
from crosswind.gateway.trajectory.record import Setting
from crosswind.gateway.upstreams.tool_servers import GIVEN, NamedServer, ServerKind

if TYPE_CHECKING:
    from crosswind.gateway.runtime import Gateway

_LOOK_UP_S = 5.0
_KINDS = {"mcp": ServerKind.MCP, "api": ServerKind.API}


class GiveServer(Body):
    """A server of tools: a URL, never a command. `rules` and `document` are for an API."""

    name: ServerName
    kind: Literal["mcp", "api"]
    url: ToolUrl
    may_repeat: tuple[ToolName, ...] = ()
    tenants: tuple[str, ...] | None = None
    """The tenants whose keys and sessions may use it; leave it out for all."""
    rules: Annotated[tuple[Mapping[str, Any], ...], Field(max_length=1000)] = ()
    document: Mapping[str, Any] | None = None
    """An OpenAPI document."""


class ServerOfTools(BaseModel):
    """A server of tools, and the path under which agents reach it."""

    name: str
    kind: Literal["mcp", "api"]
    url: str
    path: str
    source: Literal["configuration", "given"]
    may_repeat: list[str]
    tenants: list[str] | None
    tools: list[dict[str, Any]]
    """Those of an API's document, with what they do by their methods or words."""


class ServersOfTools(BaseModel):
    """All servers of tools."""

    servers: list[ServerOfTools]


def router(gateway: Gateway) -> APIRouter:
    routes = APIRouter(prefix="/api", tags=["tools"])

    @routes.get("/tools")
    async def list_servers() -> ServersOfTools:
        """The servers of tools that the configuration names, and those that were given."""
        servers = gateway.data.proxy.tools.servers
        given = await asyncio.to_thread(servers.list_given)
        named = [(one, "configuration") for one in servers.configured.values()]
        others = [one for one in given if one.name not in servers.configured]
        named += [(servers.read(one.name, one.value), "given") for one in others]
        return ServersOfTools(servers=[_describe(one, source) for one, source in named])

    @routes.post("/tools")
    async def give_server(body: GiveServer) -> Acknowledged:
        """Name a server of tools. One that was given under the same name is replaced."""
        servers = gateway.data.proxy.tools.servers
        _refuse_configured(body.name, servers.configured)
        await _refuse_internal(body.url)
        settings = body.model_dump(exclude={"name", "kind"}, exclude_defaults=True)
        if body.kind == "mcp" and (wrong := sorted({"rules", "document"} & settings.keys())):
            raise ServiceError(
                400, f"{wrong[0]}: an MCP server has none; leave it out", code="invalid", param=wrong[0]
            )
        value = {"kind": _KINDS[body.kind].value, "settings": settings}
        await asyncio.to_thread(servers.read, body.name, value)
        await gateway.acknowledge([Setting(GIVEN, body.name, value, now_us())])
        return Acknowledged()

    @routes.delete("/tools/{name}")
    async def delete_server(name: Annotated[str, Path(max_length=200)]) -> Acknowledged:
        """Forget a server that was given. Requests in flight go on."""
        servers = gateway.data.proxy.tools.servers
        _refuse_configured(name, servers.configured)
        if not any(one.name == name for one in await asyncio.to_thread(servers.list_given)):
            raise ServiceError(
                404, f"no server of tools was given as {name!r}; GET /api/tools lists them", code="not_found"
            )
        await gateway.acknowledge([Setting(GIVEN, name, {}, now_us())])
        return Acknowledged()

    return routes


def _refuse_configured(name: str, configured: Mapping[str, NamedServer]) -> None:
    if name in configured:
        raise ServiceError(
            409, f"{name!r} is a server of the configuration; change it there, and reload", code="configured"
        )


async def _refuse_internal(url: str) -> None:
    """Raise ServiceError 400 where the URL's name leads to an address that is refused. It is looked up again
    for each connection; a name that isn't known now may be known then.
    """
    host = urlsplit(url).hostname or ""
    try:
        async with asyncio.timeout(_LOOK_UP_S):
            found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError, TimeoutError):
        return
    for address in (str(one[4][0]) for one in found):
        if is_internal(address):
            raise ServiceError(
                400,
                f"url: {host!r} leads to {address}, a link-local or metadata address; "
                "name the tool's own server",
                code="invalid",
                param="url",
            )


def _describe(server: NamedServer, source: Any) -> ServerOfTools:
    kind: Literal["mcp", "api"] = "mcp" if server.kind is ServerKind.MCP else "api"
    return ServerOfTools(
        name=server.name,
        kind=kind,
        url=server.settings.url,
        path=f"/s/SESSION/{server.kind.value}/{server.name}",
        source=source,
        may_repeat=list(server.settings.may_repeat),
        tenants=None if server.settings.tenants is None else list(server.settings.tenants),
        tools=[{"name": one.name, "description": one.description} for one in server.api.tools],
    )
