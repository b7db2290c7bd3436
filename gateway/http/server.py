"""ASGI applications served on sockets: how one starts, stops and drains."""

from __future__ import annotations

import asyncio
import gc
import resource
import socket
from collections.abc import Callable, Sequence
from typing import Any

import httptools
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from crosswind.gateway.config.settings import Settings
from crosswind.gateway.http.asgi import WHEN_GONE, WIRE, Send
from crosswind.gateway.http.wire import Wire


class HttpServer(uvicorn.Server):
    """A server that says when it is up. It installs no signal handlers."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to serve."""
        await super().startup(sockets)
        self.up.set()


class ClientConnection(HttpToolsProtocol):
    """uvicorn's connection, with two extensions of ASGI. It tells a request that its client has gone: a task
    of its own that waits for that costs more than all else that the server does for a request. And it lets
    its answer be written without messages.

    An offer to go on in another protocol than WebSocket, such as HTTP/2 (curl and Java's client make it with
    their first request), is declined by answering the request, as RFC 9110 (section 7.8) has it. The parser
    ends a message at such a header, whatever body follows: it gets the request again, without the offer.
    """

    _told: Callable[[], None] | None = None
    _declining = False
    """The head of a request that makes such an offer is being read."""

    def data_received(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as offered:
            if self._declining:
                self._decline(data[offered.args[0] :])
            elif self._should_upgrade():
                self.handle_websocket_upgrade()
        except httptools.HttpParserError:
            message = "Invalid HTTP request received."
            self.logger.warning(message)
            self.send_400_response(message)

    def on_headers_complete(self) -> None:
        offers = self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT"
        self._declining = offers and not self._should_upgrade()
        if not self._declining:
            super().on_headers_complete()
        if not offers:
            # What the parser finds behind the body is no header of the request, though it be on time to pass
            # for one: RFC 9110, section 6.5.1.
            self.headers = []

    def on_message_complete(self) -> None:
        if not self._declining:
            super().on_message_complete()

    def _decline(self, rest: bytes) -> None:
        """Read the request without its offer, and what follows its head."""
        left_out = (b"upgrade", b"connection")
        head = [b"%b %b HTTP/1.1\r\n" % (self.parser.get_method(), self.url)]
        head += [b"%b: %b\r\n" % field for field in self.headers if field[0] not in left_out]
        tokens = [
            token for name, value in self.headers if name == b"connection" for token in value.split(b",")
        ]
        kept = b",".join(token for token in tokens if token.strip().lower() != b"upgrade")
        head.append(b"connection: %b\r\n\r\n" % kept if kept else b"\r\n")
        self._declining = False
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn's own
        self.data_received(b"".join(head) + rest)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = {WHEN_GONE: {"call": self._when_gone}, WIRE: {"of": _wire}}

    def _when_gone(self, told: Callable[[], None] | None) -> None:
        """Call this when the client goes away, at once where it has gone; None: nobody wants to know."""
        self._told = told
        if told is not None and self.transport.is_closing():
            told()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._told is not None:
            self._told()


def _wire(send: Send) -> Wire:
    """The wire of the request whose `send` this is: a method of uvicorn's record of it."""
    return Wire(send.__self__)  # type: ignore[attr-defined]


class LazyApplication:
    """An application that is made in a thread, from now on: its first requests wait for it, others don't."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.made: asyncio.Task[Any] = asyncio.create_task(asyncio.to_thread(make))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        application = await asyncio.shield(self.made)
        await application(scope, receive, send)


def make_server(settings: Settings, app: Any, *, websockets: bool = False) -> HttpServer:
    """A server of an ASGI application, with the configuration's limits."""
    return HttpServer(server_config(settings, app, websockets=websockets))


def server_config(settings: Settings, app: Any, *, websockets: bool) -> uvicorn.Config:
    """How every server of ours runs."""
    return uvicorn.Config(
        app,
        loop="none",
        http=ClientConnection,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=int(settings.timeouts.keep_alive) or 1,
        timeout_graceful_shutdown=int(settings.timeouts.drain) or 1,
        h11_max_incomplete_event_size=settings.limits.header,
        ws="websockets-sansio" if websockets else "none",
        ws_max_size=settings.limits.body,
    )


async def serve_on(servers: Sequence[uvicorn.Server], listeners: Sequence[socket.socket]) -> None:
    """Serve until `stop`, then until what is in flight has ended or `timeouts.drain` is over."""
    await asyncio.gather(
        *(server._serve([listener]) for server, listener in zip(servers, listeners, strict=True))
    )


def stop(servers: Sequence[uvicorn.Server]) -> None:
    """Stop taking requests and let those in flight end; asked again, cut them."""
    for server in servers:
        server.force_exit = server.should_exit
        server.should_exit = True


def tune_garbage_collection() -> None:
    """Have the collector of cycles look seldom, and never at what was there from the start.

    What a request makes goes by itself when it is over; what stays (sessions and their histories) has no
    cycles, and looking through it again and again cost a tenth of a turn. To be called once all is imported.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def allow_many_connections() -> None:
    """Raise the soft limit of open files to the hard one: each stream needs two."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (OSError, ValueError):
            return  # macOS gives no limit as the hard one and refuses it; the soft one stands then
