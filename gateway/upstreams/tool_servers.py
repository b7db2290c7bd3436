"""The MCP servers and HTTP APIs of tools: the configuration's, and those that the control plane was given."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import structlog
import yaml

from crosswind.gateway.config.settings import Settings
from crosswind.gateway.config.tools import McpServer, ToolApi, ToolServer
from crosswind.gateway.errors import ConfigurationError, ServiceError, nearest
from crosswind.gateway.tools.openapi import Api, load_document, read_openapi
from crosswind.gateway.tools.rules import HttpRules, parse_rules
from crosswind.gateway.trajectory.record import Setting
from crosswind.gateway.trajectory.store import Store, StoreError
from crosswind.gateway.upstreams.upstream import Upstream
from crosswind.injectors.conversation import ToolList

_log = structlog.get_logger("crosswind.tools")

GIVEN = "tool_server"
"""The kind of setting under which a server is kept that the control plane was given."""


class ServerKind(StrEnum):
    """The first segment of the path under which clients reach a server."""

    MCP = "mcp"
    API = "tools"


_NOTHING_SAID = Api((), ToolList())


@dataclass(frozen=True, slots=True, eq=False)
class NamedServer:
    """A server of tools, ready to be used."""

    kind: ServerKind
    name: str
    settings: ToolServer
    upstream: Upstream
    rules: HttpRules
    """Which requests are calls; none of an MCP server's."""
    api: Api
    """What the OpenAPI document of an API says."""


class ToolServers:
    """All servers of tools. Unchanged ones of `known` are kept, with their connections."""

    def __init__(self, settings: Settings, store: Store, run: str, known: ToolServers | None) -> None:
        """Raises ConfigurationError if the rules or the document of an API can't be used."""
        self._settings, self._store, self._run = settings, store, run
        before = {} if known is None else known.configured
        self.configured: dict[str, NamedServer] = {}
        for kind, table in ((ServerKind.MCP, settings.tools.mcp), (ServerKind.API, settings.tools.apis)):
            for name, one in table.items():
                try:
                    built = self._build(kind, name, one)
                except ValueError as error:
                    raise ConfigurationError(f"tools.apis.{name}.{error}") from None
                same = before.get(name)
                keeps = same is not None and same.upstream.identity == built.upstream.identity
                self.configured[name] = built if not keeps else _with_upstream(built, same)
        self._given: dict[str, tuple[Mapping[str, Any], NamedServer]] = {} if known is None else known._given

    def _build(self, kind: ServerKind, name: str, given: ToolServer) -> NamedServer:
        upstream = Upstream(given.as_upstream(name), self._settings, f"{self._run}/tools", guarded=True)
        if not isinstance(given, ToolApi):
            return NamedServer(kind, name, given, upstream, HttpRules(), _NOTHING_SAID)
        return NamedServer(kind, name, given, upstream, *read_rules(given))

    def find(self, kind: ServerKind, name: str, tenant: str | None) -> NamedServer:
        """The server of this name that a caller of the tenant may use. ServiceError 404 if there is none."""
        found = self.configured.get(name) or self._find_given(name)
        if found is None or found.kind is not kind or not found.settings.serves(tenant):
            what = "MCP server" if kind is ServerKind.MCP else "API"
            table = "mcp" if kind is ServerKind.MCP else "apis"
            known = [
                one.name
                for one in self.configured.values()
                if one.kind is kind and one.settings.serves(tenant)
            ]
            raise ServiceError(
                404,
                f"no {what} is named {name!r} ({nearest(name, known)}); name it under `tools.{table}`, "
                "or POST it to /api/tools of the control plane",
                code="unknown_tool_server",
            )
        return found

    def _find_given(self, name: str) -> NamedServer | None:
        """A server that the control plane was given, in any process: one point query."""
        kept = self._given.get(name)
        try:
            stored = self._store.setting(GIVEN, name)
        except StoreError as error:
            _log.error("a server of tools can't be read: as it was known", server=name, error=str(error))
            return None if kept is None else kept[1]
        if stored is None or not stored.value:
            return None
        if kept is None or kept[0] != stored.value:
            kept = self._given[name] = stored.value, self.read(name, stored.value)
        return kept[1]

    def read(self, name: str, value: Mapping[str, Any]) -> NamedServer:
        """The server that a value describes. Raises ValueError if its rules or document can't be used."""
        kind = ServerKind(value["kind"])
        model = McpServer if kind is ServerKind.MCP else ToolApi
        return self._build(kind, name, model.model_validate(value["settings"]))

    def list_given(self) -> list[Setting]:
        """The servers that the control plane was given."""
        return [one for one in self._store.settings(GIVEN) if one.value]

    async def close_others(self, kept: ToolServers | None, *, drain: bool) -> None:
        """Close the connections of all servers that aren't those of `kept`."""
        used = set() if kept is None else {one.upstream for one in kept.configured.values()}
        mine = [one.upstream for one in self.configured.values()]
        if kept is None:
            mine += [one.upstream for _, one in self._given.values()]
        await asyncio.gather(*(one.close(drain=drain) for one in mine if one not in used))


def _with_upstream(built: NamedServer, other: NamedServer | None) -> NamedServer:
    assert other is not None
    return NamedServer(built.kind, built.name, built.settings, other.upstream, built.rules, built.api)


def read_rules(given: ToolApi) -> tuple[HttpRules, Api]:
    """Which requests are calls, and what the API's document says. Raises ValueError, which begins with the
    field.
    """
    api = _read_api(given)
    return HttpRules((*parse_rules(given.rules), *api.rules)), api


def _read_api(given: ToolApi) -> Api:
    """What the API's document says. Raises ValueError, which begins with the field."""
    field, document = "document", given.document
    if given.openapi is not None:
        field = f"openapi: {str(given.openapi)!r}"
        try:
            document = load_document(given.openapi.read_text("utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            reason = " ".join(str(error).split())
            raise ValueError(f"{field} can't be read ({reason}); name a readable JSON or YAML file") from None
    if document is None:
        return _NOTHING_SAID
    try:
        return read_openapi(document)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{field}: {error}") from None
