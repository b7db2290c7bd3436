"""Episodes whose tools are behind the gateway, as an MCP server, over HTTP or stdio, or as an HTTP API."""
