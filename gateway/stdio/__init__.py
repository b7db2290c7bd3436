"""MCP over stdio: a relay between a client and the server that it starts (`crosswind mcp`).

The relay passes lines on as the bytes they were. The core of the tool leg (`gateway/tools`) is imported
while the server starts, and only calls of tools and lists of tools wait for it.
"""
