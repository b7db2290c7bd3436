"""`crosswind doctor --mcp` and `--http`: a server's tools, their classes, and noise to begin with."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import yaml

from crosswind.gateway.columns import find_width, write_columns
from crosswind.gateway.commands.mcp_client import LONGEST_S, HttpTransport, McpClient, McpError
from crosswind.gateway.tools.openapi import load_document, read_openapi
from crosswind.gateway.tools.safety import Origin, Safety, assess
from crosswind.injectors.conversation import ToolSchema
from crosswind.injectors.engine.plan import Seed, make_plan
from crosswind.injectors.profiles.load import load
from crosswind.injectors.targets import ToolClass

_REPEATABLE = (ToolClass.READ_ONLY, ToolClass.IDEMPOTENT)
_BEFORE = ("tool.execution_failure", "tool.timeout", "tool.rate_limit")
"""They fail a call before it is delivered."""
_ON_RESULTS = ("tool.incomplete", "tool.misleading")
"""They change a result; the first may lose some of it."""

_FIX = (
    "If a tool of class destructive or unknown only reads, `tool_classes: {NAME: read_only}` in the "
    "configuration or `--tools-read-only NAME` says so."
)


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

    @property
    def row(self) -> tuple[str, ...]:
        known = self.safety.evidence or self.safety.origin.value
        return (self.name, self.safety.tool_class.value, known)


def diagnose_mcp(url: str, declared: Sequence[Mapping[str, ToolClass]]) -> list[DiagnosedTool]:
    """The tools of an MCP server over HTTP, of either era. Raises NoToolsError."""
    try:
        with McpClient(HttpTransport(url)) as client:
            listed = list(client.tools())
    except McpError as error:
        said = str(error) if url in str(error) else f"{url}: {error}; give an MCP server's endpoint"
        raise NoToolsError(said) from None
    return _diagnose([(one, None) for one in listed], declared)


def diagnose_http(source: str, declared: Sequence[Mapping[str, ToolClass]]) -> list[DiagnosedTool]:
    """The tools of an OpenAPI document, by its file or URL. Raises NoToolsError."""
    try:
        if source.startswith(("http://", "https://")):
            answer = httpx.get(source, timeout=LONGEST_S, trust_env=False, follow_redirects=True)
            text = answer.raise_for_status().text
        else:
            text = Path(source).read_text("utf-8")
        api = read_openapi(load_document(text))
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


def describe_tools(tools: Sequence[DiagnosedTool]) -> Iterator[str]:
    """The lines that are printed: a table of the tools, and the noise that their classes allow."""
    if not tools:
        yield "no tools"
        return
    yield from write_columns([("tool", "class", "known by"), *(one.row for one in tools)])
    yield ""
    spared = [one for one in tools if one.safety.tool_class not in _REPEATABLE]
    for operators in dict.fromkeys(one.operators for one in tools):
        classes = dict.fromkeys(one.safety.tool_class.value for one in tools if one.operators == operators)
        proposed = f"noise for {', '.join(classes)}: {', '.join(operators)}"
        yield textwrap.fill(proposed, find_width(), subsequent_indent="  ", break_on_hyphens=False)
    if any(one.safety.origin in (Origin.WORDING, Origin.NOTHING) for one in spared):
        yield textwrap.fill(_FIX, find_width(), subsequent_indent="  ", break_on_hyphens=False)


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
