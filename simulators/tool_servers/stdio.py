"""The tools of an episode in play, as an MCP server over stdio: it asks the server over HTTP.

    python -m crosswind.simulators.tool_servers.stdio http://127.0.0.1:9100 EPISODE

The standard library only, since a process of it is started for each episode.
"""

from __future__ import annotations

import sys
from http.client import HTTPConnection
from urllib.parse import urlsplit


def main(root: str, episode: str) -> None:
    """Pass on messages until there are no more."""
    at = urlsplit(root)
    connection = HTTPConnection(at.hostname or "127.0.0.1", at.port)
    headers = {"x-episode": episode, "content-type": "application/json"}
    for line in sys.stdin.buffer:
        connection.request("POST", "/mcp", line, headers)
        if said := connection.getresponse().read().strip():
            sys.stdout.buffer.write(said + b"\n")
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
