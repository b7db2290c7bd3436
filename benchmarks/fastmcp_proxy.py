"""A proxy of FastMCP over stdio, with a middleware that does nothing: `fastmcp_proxy.py COMMAND...`.

Run by the Python of FastMCP's own environment.
"""

import sys
from typing import Any

from fastmcp.client.transports import StdioTransport  # type: ignore[import-not-found]
from fastmcp.server import create_proxy  # type: ignore[import-not-found]
from fastmcp.server.middleware import Middleware  # type: ignore[import-not-found]


class Nothing(Middleware):  # type: ignore[misc]
    async def on_call_tool(self, context: Any, call_next: Any) -> Any:
        return await call_next(context)


proxy = create_proxy(StdioTransport(sys.argv[1], sys.argv[2:]), name="proxy")
proxy.add_middleware(Nothing())
proxy.run(show_banner=False)
