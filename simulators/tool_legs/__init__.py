"""Episodes whose tools are behind the gateway, as an MCP server or as an HTTP API."""
