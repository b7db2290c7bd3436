"""An environment's tools served to other processes: as an MCP server over HTTP, and as an HTTP API."""
