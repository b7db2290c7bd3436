"""The data plane as a server sees it: each request goes to the proxy that is in force when it comes."""

from __future__ import annotations

from crosswind.gateway.http.asgi import Message, Receive, Send
from crosswind.gateway.proxy.proxy import Proxy


class DataPlane:
    """An ASGI application whose proxy can be exchanged; requests in flight end with the one they came to."""

    def __init__(self, proxy: Proxy) -> None:
        self.proxy = proxy

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        await self.proxy(scope, receive, send)
