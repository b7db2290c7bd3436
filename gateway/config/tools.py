"""Settings of tool traffic: MCP servers, and HTTP APIs whose requests are calls of tools."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, model_validator

from crosswind.gateway.config.internal_addresses import find_internal_address
from crosswind.gateway.config.provider_presets import AuthStyle
from crosswind.gateway.config.sections import DEFAULT_TENANT, Seconds, Section, ServerKey
from crosswind.gateway.config.upstream import (
    BaseUrl,
    HeaderRules,
    Retries,
    UpstreamSettings,
    UpstreamTimeouts,
)


def _check_reachable(url: str) -> str:
    if (found := find_internal_address(url)) is not None:
        raise ValueError(f"{found} is a link-local or metadata address; name the tool's own server")
    return url


ServerName = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,50}$")]
ToolUrl = Annotated[BaseUrl, AfterValidator(_check_reachable)]
ToolName = Annotated[str, Field(min_length=1, max_length=200)]


class ToolTimeouts(UpstreamTimeouts):
    """Seconds; None: the common value of `timeouts`. Streams of MCP stay open, and may be silent for long."""

    between_chunks: Seconds | None = 3600.0
    total: Seconds | None = 86400.0


class ToolServer(ServerKey):
    """What MCP servers and HTTP APIs have in common."""

    url: ToolUrl
    auth: AuthStyle = "bearer"
    """The key's header; without a key the client's own credential is forwarded. `passthrough`: that is
    preferred to the key; `none`: no credential."""
    headers: HeaderRules = HeaderRules()
    timeouts: ToolTimeouts = ToolTimeouts()
    may_repeat: tuple[ToolName, ...] = ()
    """Names or globs of tools whose calls may be delivered twice, and cut after they took effect."""

    tenants: tuple[str, ...] | None = None
    """The tenants whose keys and sessions may use it; None: all."""

    def serves(self, tenant: str | None) -> bool:
        """Whether callers of this tenant may use it."""
        return self.tenants is None or (tenant or DEFAULT_TENANT) in self.tenants

    def as_upstream(self, name: str) -> UpstreamSettings:
        """The settings of the upstream that it is."""
        return UpstreamSettings(
            name=name,
            base=self.url,
            models=(),
            join="",
            protocols=(),
            # A call that a server refused may have been carried out all the same.
            retries=Retries(on_status=()),
            **{field: getattr(self, field) for field in ("key", "key_env", "auth", "headers", "timeouts")},
        )


class McpServer(ToolServer):
    """An MCP server that speaks HTTP. Its `url` is that of its endpoint."""


class ToolApi(ToolServer):
    """An HTTP API before which the gateway stands. What no rule matches is passed on untouched."""

    openapi: Path | None = None
    """An OpenAPI document, JSON or YAML: a rule and a tool for each of its operations."""
    document: Mapping[str, Any] | None = None
    """The same, given in place."""
    rules: tuple[Mapping[str, Any], ...] = ()
    """Rules by hand, as `gateway/tools/rules.py` has them. They go before those of the document."""

    @model_validator(mode="after")
    def _check_document(self) -> Self:
        if self.openapi is not None and self.document is not None:
            raise ValueError("give either `openapi` or `document`")
        return self


class Tools(Section):
    """Servers of tools, by the names under which clients reach them: /mcp/NAME and /tools/NAME."""

    mcp: dict[ServerName, McpServer] = Field(default_factory=dict)
    apis: dict[ServerName, ToolApi] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        if both := sorted(self.mcp.keys() & self.apis.keys()):
            raise ValueError(f"an MCP server and an API are named {both[0]!r}; give each a name of its own")
        return self

    @cached_property
    def servers(self) -> tuple[ToolServer, ...]:
        return (*self.mcp.values(), *self.apis.values())

    @property
    def has_credentials(self) -> bool:
        """Whether requests to a server may carry something that its clients don't have."""
        return any(one.secret is not None or one.headers.add for one in self.servers)
