"""An MCP server of the official SDK over stdio, whose tools differ in what a second delivery does."""

import json
import os
import sys
from pathlib import Path

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("ledger")
file = Path(sys.argv[1])


def entries() -> list[str]:
    return list(json.loads(file.read_text())) if file.exists() else []


def write(new: list[str]) -> str:
    file.write_text(json.dumps(new))
    return "done"


@server.tool(structured_output=False)
def list_entries() -> str:
    """List the entries."""
    return json.dumps(entries())


@server.tool(structured_output=False)
def count_reads() -> str:
    """Tell how often this was called."""
    counter = file.with_suffix(".reads")
    count = int(counter.read_text()) + 1 if counter.exists() else 1
    counter.write_text(str(count))
    return str(count)


@server.tool(structured_output=False)
def append(name: str) -> str:
    """Append an entry."""
    return write([*entries(), name])


@server.tool(structured_output=False)
def put(name: str) -> str:
    """Set an entry."""
    return write(entries() if name in entries() else [*entries(), name])


@server.tool(structured_output=False)
def create(name: str) -> str:
    """Create an entry."""
    if name in entries():
        raise ToolError(f"{name} exists")
    return write([*entries(), name])


@server.tool(structured_output=False)
def send(name: str) -> str:
    """Send a message, which no read shows."""
    return f"sent to {name}"


@server.tool(structured_output=False)
def refuse() -> str:
    """Refuse each call."""
    raise ToolError("not today")


@server.tool(structured_output=False)
def die() -> str:
    """End the server."""
    os._exit(3)


server.run()
