"""A link to a server under a profile, and the messages of both sides, for tests."""

from __future__ import annotations

import json
from typing import Any

from crosswind.gateway.tools.leg import ToolLeg
from crosswind.gateway.tools.mcp import McpLink
from tests.injectors.plans import plan_with

META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}


def make_link(*operators: str, may_repeat: tuple[str, ...] = (), **options: Any) -> tuple[McpLink, ToolLeg]:
    """A link under rules for these operators."""
    leg = ToolLeg(plan_with(*operators, **options), "s", "leg", may_repeat=may_repeat)
    return McpLink(leg, "shop"), leg


def line(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}, ensure_ascii=False).encode() + b"\n"


def call(number: Any, tool: str, arguments: dict[str, Any] | None = None, **params: Any) -> bytes:
    given = {"name": tool, "arguments": arguments or {}, **params}
    return line(id=number, method="tools/call", params=given)


def result(number: Any, *texts: str, **members: Any) -> bytes:
    content = [{"type": "text", "text": text} for text in texts]
    return line(id=number, result={"content": content, **members})


def tools(*declared: dict[str, Any], number: Any = "list", **members: Any) -> bytes:
    return line(id=number, result={"tools": list(declared), **members})


def tool(name: str, description: str = "", **members: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    return {"name": name, "description": description, "inputSchema": schema, **members}


def listing(number: Any = "list") -> bytes:
    return line(id=number, method="tools/list", params={})
