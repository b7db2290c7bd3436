"""Where an agent's calls travel."""

from __future__ import annotations

from enum import StrEnum


class Leg(StrEnum):
    """Where the agent's calls meet noise."""

    MODEL = "model"
    """Where the agent reports results: the tools are in its own process."""
    MCP = "mcp"
    """Between the agent and an MCP server."""
    STDIO = "stdio"
    """The same over stdio, through the relay of `crosswind mcp`."""
    HTTP = "http"
    """Between the agent and an HTTP API."""
