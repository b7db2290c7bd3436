"""`python -m crosswind.simulators.tool_servers`: an environment's tools on a port, for agents of any kind."""

from __future__ import annotations

import click
import uvicorn

from crosswind.simulators.environment import Environment, UnknownEnvironmentError, load
from crosswind.simulators.errors import EnvironmentFailedError
from crosswind.simulators.tool_servers.application import ToolServer


@click.command()
@click.option("--environment", default="retail", show_default=True, help="Its name, or its URL.")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=int, default=9100, show_default=True)
def main(environment: str, host: str, port: int) -> None:
    """Serve an environment's tools: MCP at /mcp, an HTTP API under /api, episodes at /episodes."""
    server = ToolServer(_find(environment))
    try:
        uvicorn.run(server, host=host, port=port, lifespan="off", ws="none", log_level="warning")
    finally:
        server.episodes.close()


def _find(name: str) -> Environment:
    try:
        return load(name)
    except UnknownEnvironmentError as error:
        raise click.UsageError(f"--{error}") from None
    except (EnvironmentFailedError, ValueError) as error:
        raise click.UsageError(f"--environment: {name}: {error}") from None


if __name__ == "__main__":
    main()
