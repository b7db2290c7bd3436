"""A shop's tools for tests: as a real MCP server over HTTP, and as a real HTTP API. Both count the orders."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from mcp.server import NotificationOptions
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations
from pydantic import BaseModel

from crosswind.loopback_server import listen, make_server, run_server


class Order(BaseModel):
    id: int
    city: str
    total: float


@dataclass
class Seen:
    """What reached the server."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Shop:
    """What happened in the shop."""

    url: str = ""
    orders: list[str] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    waiting: asyncio.Event = field(default_factory=asyncio.Event)

    def calls(self, tool: str) -> int:
        """How many calls of a tool reached the MCP server."""
        return sum(b'"tools/call"' in one.body and tool.encode() in one.body for one in self.seen)


def make_mcp(shop: Shop) -> MCPServer:
    server = MCPServer("shop")

    @server.tool(annotations=ToolAnnotations(readOnlyHint=True))
    def get_order(order_id: int) -> str:
        """Look an order up."""
        return json.dumps({"id": order_id, "city": "Lisbon", "total": 17.5})

    @server.tool(annotations=ToolAnnotations(readOnlyHint=True))
    def find_order(order_id: int) -> Order:
        """Find an order."""
        return Order(id=order_id, city="Lisbon", total=17.5)

    @server.tool()
    def place_order(item: str) -> str:
        """Place an order."""
        shop.orders.append(item)
        return f"Ordered {item}: number {len(shop.orders)}."

    @server.tool()
    async def count(upto: int, context: Context) -> str:
        """Count slowly."""
        for n in range(upto):
            await context.report_progress(n, upto)
        return "done"

    @server.tool()
    async def wait() -> str:
        """Never answer."""
        shop.waiting.set()
        try:
            await asyncio.Event().wait()
        finally:
            shop.cancelled.set()
        return "never"

    return server


def make_telling_mcp(shop: Shop) -> MCPServer:
    """The same server, which declares in the handshake that it tells when its list of tools changes."""
    server = make_mcp(shop)
    lowlevel: Any = server._lowlevel_server
    options = NotificationOptions(tools_changed=True)
    lowlevel.create_initialization_options = partial(lowlevel.create_initialization_options, options)
    return server


App = Callable[[Any, Any, Any], Awaitable[None]]


def watched(shop: Shop, app: App) -> App:
    """The application, with its requests noted."""

    async def run(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return await app(scope, receive, send)
        headers = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
        seen = Seen(scope["method"], scope["path"], headers, b"")
        shop.seen.append(seen)

        async def note() -> Any:
            message = await receive()
            seen.body += message.get("body", b"")
            return message

        await app(scope, note, send)

    return run


@contextlib.asynccontextmanager
async def mcp_shop(**options: Any) -> AsyncIterator[Shop]:
    """The shop as an MCP server; its `url` is the endpoint's."""
    shop = Shop()
    app = make_telling_mcp(shop).streamable_http_app(**options)
    async with app.router.lifespan_context(app), run_server(make_server(watched(shop, app)), listen()) as url:
        shop.url = f"{url}/mcp"
        yield shop


OPENAPI = {
    "openapi": "3.1.0",
    "paths": {
        "/orders/{order_id}": {
            "parameters": [{"$ref": "#/components/parameters/order"}],
            "get": {"operationId": "get_order", "summary": "Look an order up."},
            "delete": {"operationId": "cancel_order", "summary": "Cancel an order."},
        },
        "/orders": {
            "post": {
                "operationId": "place_order",
                "requestBody": {
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Order"}}}
                },
            }
        },
    },
    "components": {
        "parameters": {
            "order": {"name": "order_id", "in": "path", "required": True, "schema": {"type": "integer"}}
        },
        "schemas": {
            "Order": {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]}
        },
    },
}


def make_api(shop: Shop) -> App:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        status, content, headers = 200, b"", [(b"content-type", b"application/json")]
        path = scope["path"]
        if path.startswith("/orders/"):
            content = json.dumps(
                {"id": int(path.rpartition("/")[2]), "city": "Lisbon", "total": 17.5}
            ).encode()
            if b"compress" in scope["query_string"]:
                content = gzip.compress(content, mtime=0)
                headers += [(b"content-encoding", b"gzip"), (b"etag", b'"1"')]
        elif path == "/orders":
            shop.orders.append(json.loads(body)["item"])
            status, content = 201, json.dumps({"number": len(shop.orders)}).encode()
        elif path == "/blob":
            headers, content = [(b"content-type", b"application/octet-stream")], bytes(range(256)) * 4000
        elif path == "/echo":
            headers, content = [(b"content-type", b"application/octet-stream")], body
        elif path == "/wait":
            shop.waiting.set()
            while (await receive())["type"] != "http.disconnect":
                pass
            shop.cancelled.set()
            return
        else:
            status, content = 404, b'{"error": "no such thing"}'
        headers = [*headers, (b"content-length", str(len(content)).encode()), (b"x-api", b"shop")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    return app


@contextlib.asynccontextmanager
async def api_shop() -> AsyncIterator[Shop]:
    """The shop as an HTTP API."""
    shop = Shop()
    async with run_server(make_server(watched(shop, make_api(shop))), listen()) as url:
        shop.url = url
        yield shop
