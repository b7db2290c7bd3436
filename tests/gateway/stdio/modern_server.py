"""A server of the official Python SDK, which speaks both eras. Run by its own environment's Python."""

from mcp.server.mcpserver import MCPServer  # type: ignore[import-not-found]
from pydantic import BaseModel

server = MCPServer("modern")


class Weather(BaseModel):
    temperature: float


@server.tool()
def echo(message: str) -> str:
    """Echo a message."""
    return f"Echo: {message}"


@server.tool(name="get-structured-content")
def structured(location: str) -> Weather:
    """Get the weather."""
    return Weather(temperature=3.5)


server.run()
