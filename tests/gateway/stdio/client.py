"""A session of the official client with a server: `client.py MODE COMMAND...`. Prints what it saw as JSON."""

import asyncio
import json
import sys
from typing import Any

from mcp import Client, StdioServerParameters, stdio_client  # type: ignore[import-not-found]


def describe(result: Any) -> dict[str, Any]:
    text = "".join(getattr(part, "text", "") for part in result.content)
    return {"error": result.is_error, "text": text, "value": result.structured_content}


async def main() -> None:
    mode, command = sys.argv[1], sys.argv[2:]
    server = stdio_client(StdioServerParameters(command=command[0], args=command[1:]))
    async with Client(server, mode=mode) as client:
        seen: dict[str, Any] = {
            "protocol": client.protocol_version,
            "tools": sorted(tool.name for tool in (await client.list_tools()).tools),
            "echo": [describe(await client.call_tool("echo", {"message": "x"})) for _ in range(2)],
        }
        given = {"location": "Chicago"}
        seen["structured"] = describe(await client.call_tool("get-structured-content", given))
    print(json.dumps(seen))


asyncio.run(main())
