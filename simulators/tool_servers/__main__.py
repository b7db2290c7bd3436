"""`python -m crosswind.simulators.tool_servers`: an environment's tools on a port, for agents of any kind."""

from __future__ import annotations

import click
import uvicorn

from crosswind.simulators.environment import UnknownEnvironmentError, load
from crosswind.simulators.tool_servers.application import ToolServer


@click.command()
@click.option("--environment", default="retail", show_default=True, help="The practice domain.")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=int, default=9100, show_default=True)
def main(environment: str, host: str, port: int) -> None:
    """Serve an environment's tools: MCP at /mcp, an HTTP API under /api, episodes at /episodes."""
    try:
        server = ToolServer(load(environment))
    except UnknownEnvironmentError as error:
        raise click.UsageError(f"--{error}") from None
    try:
        uvicorn.run(server, host=host, port=port, lifespan="off", ws="none", log_level="warning")
    finally:
        server.episodes.close()


if __name__ == "__main__":
    main()
