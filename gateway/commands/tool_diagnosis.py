"""`crosswind doctor --mcp` and `--http`: a server's tools, their classes, and noise to begin with."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import msgspec
import yaml

from crosswind.gateway.http.sse import EventSplitter
from crosswind.gateway.tools.mcp import MODERN
from crosswind.gateway.tools.mcp_results import read_members
from crosswind.gateway.tools.mcp_tools import ToolListView
from crosswind.gateway.tools.openapi import read_openapi
from crosswind.gateway.tools.safety import Safety, assess
from crosswind.injectors.conversation import ToolSchema
from crosswind.injectors.engine.plan import Seed, make_plan
from crosswind.injectors.profiles.load import load
from crosswind.injectors.targets import ToolClass

_LEGACY, _MODERN = "2025-11-25", "2026-07-28"
_CLIENT = {"name": "crosswind doctor", "version": "1"}
_LONGEST_S = 30.0
_MOST_PAGES = 100
_LARGEST_EVENT = 64 << 20
_REPEATABLE = (ToolClass.READ_ONLY, ToolClass.IDEMPOTENT)
_BEFORE = ("tool.execution_failure", "tool.timeout", "tool.rate_limit")
"""They fail a call before it is delivered."""
_ON_RESULTS = ("tool.incomplete", "tool.misleading")
"""They change a result; the first may lose some of it."""


class NoToolsError(ValueError):
    """The tools can't be listed. The message says why, and the fix."""


@dataclass(frozen=True, slots=True)
class DiagnosedTool:
    """A tool, what it does to the world, and which noise may act on it."""

    name: str
    safety: Safety

    @property
    def operators(self) -> tuple[str, ...]:
        if self.safety.tool_class in _REPEATABLE:
            return (*_BEFORE, *_ON_RESULTS)
        return (*_BEFORE, _ON_RESULTS[1])

    def describe(self) -> str:
        return f"{self.name}: {self.safety.describe()}: {', '.join(self.operators)}"


def diagnose_mcp(url: str, declared: Sequence[Mapping[str, ToolClass]]) -> list[DiagnosedTool]:
    """The tools of an MCP server over HTTP, of either era. Raises NoToolsError."""
    try:
        with httpx.Client(timeout=_LONGEST_S, trust_env=False) as client:
            listed = list(_McpListing(client, url).tools())
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        reason = str(error) or type(error).__name__
        raise NoToolsError(f"{url} can't be asked ({reason}); start it, or correct the URL") from None
    except (msgspec.DecodeError, UnicodeError, KeyError, TypeError) as error:
        raise NoToolsError(f"{url} gives no list of tools ({error}); give an MCP server's endpoint") from None
    return _diagnose([(one, None) for one in listed], declared)


def diagnose_http(source: str, declared: Sequence[Mapping[str, ToolClass]]) -> list[DiagnosedTool]:
    """The tools of an OpenAPI document, by its file or URL. Raises NoToolsError."""
    try:
        if source.startswith(("http://", "https://")):
            answer = httpx.get(source, timeout=_LONGEST_S, trust_env=False, follow_redirects=True)
            text = answer.raise_for_status().text
        else:
            text = Path(source).read_text("utf-8")
        api = read_openapi(yaml.safe_load(text))
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise NoToolsError(f"{source}: no OpenAPI document ({reason}); give its file or its URL") from None
    methods = {rule.tool: str(rule.method) for rule in api.rules}
    return _diagnose([(one, methods.get(one.name)) for one in api.tools], declared)


def _diagnose(
    listed: Sequence[tuple[ToolSchema, str | None]], declared: Sequence[Mapping[str, ToolClass]]
) -> list[DiagnosedTool]:
    plan = make_plan(load("off"), Seed(0, "doctor", "session"), tool_classes=declared)
    schemas = [schema for schema, _ in listed]
    return [DiagnosedTool(one.name, assess(plan, one.name, schemas, method=method)) for one, method in listed]


def write_profile(name: str, tools: Sequence[DiagnosedTool]) -> str:
    """A profile's YAML to begin with: each tool with its class, and noise that each class allows."""
    classes = {one.name: one.safety.tool_class.value for one in tools}
    repeatable = [one.name for one in tools if one.safety.tool_class in _REPEATABLE]
    rules: list[dict[str, Any]] = [{"operator": one, "severity": 0.1} for one in (*_BEFORE, _ON_RESULTS[1])]
    if repeatable:
        rules.append({"operator": _ON_RESULTS[0], "severity": 0.1, "where": {"tools": repeatable}})
    document = {"name": name, "tool_classes": classes, "rules": rules}
    head = "# Correct the classes first: what a tool does to the world decides what may hit it.\n"
    return head + yaml.safe_dump(document, sort_keys=False, allow_unicode=True)


@dataclass(slots=True)
class _McpListing:
    """Asks a server for its tools: with a handshake, else as the modern era does."""

    client: httpx.Client
    url: str

    def tools(self) -> Iterator[ToolSchema]:
        opening = {"protocolVersion": _LEGACY, "capabilities": {}, "clientInfo": _CLIENT}
        opened = self._post("initialize", opening, {})
        headers = {"mcp-protocol-version": _MODERN, "mcp-method": "tools/list"}
        prefix = MODERN.rpartition("/")[0]
        meta = {MODERN: _MODERN, f"{prefix}/clientInfo": _CLIENT, f"{prefix}/clientCapabilities": {}}
        params: dict[str, Any] = {"_meta": meta}
        if opened is not None:
            answer, result = opened
            agreed = json.loads(bytes(result))["protocolVersion"]
            session = answer.headers.get("mcp-session-id")
            headers = {"mcp-protocol-version": agreed, **({"mcp-session-id": session} if session else {})}
            params = {}
            said = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            self.client.post(self.url, json=said, headers={**_ACCEPT, **headers})
        for _ in range(_MOST_PAGES):
            page = self._post("tools/list", params, headers)
            if page is None:
                raise KeyError("tools/list was refused")
            members = read_members(page[1])
            yield from ToolListView.read(members).declared
            if "nextCursor" not in members:
                break
            params = {**params, "cursor": json.loads(bytes(members["nextCursor"]))}
        if "mcp-session-id" in headers:
            self.client.delete(self.url, headers=headers)

    def _post(
        self, method: str, params: Mapping[str, Any], headers: Mapping[str, str]
    ) -> tuple[httpx.Response, bytes] | None:
        """The answer to a request, and its result; None where it was refused."""
        said = {"jsonrpc": "2.0", "id": method, "method": method, "params": params}
        answer = self.client.post(self.url, json=said, headers={**_ACCEPT, **headers})
        body = answer.content
        if answer.headers.get("content-type", "").startswith("text/event-stream"):
            events = [one.data for one in EventSplitter(_LARGEST_EVENT).feed(body)]
            body = next((one for one in events if one and b'"id"' in one), b"{}")
        if answer.status_code in (401, 403):
            answer.raise_for_status()
        if answer.status_code >= 400:
            return None
        members = read_members(body)
        return (answer, bytes(members["result"])) if "result" in members else None


_ACCEPT = {"accept": "application/json, text/event-stream"}
