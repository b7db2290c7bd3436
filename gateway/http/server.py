"""Serve ASGI applications on sockets: start, stop and drain."""

from __future__ import annotations

import asyncio
import gc
import resource
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import httptools
import structlog
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from crosswind.gateway.config.settings import Settings
from crosswind.gateway.http.asgi import WHEN_GONE

_log = structlog.get_logger("crosswind.gateway")
_LOOK_EVERY_S = 0.05
"""How often the server looks whether the requests in flight have ended, as uvicorn itself does."""
_CUT_S = 2.0
"""How long requests that are cut may take to answer: a client may read nothing."""


class HttpServer(uvicorn.Server):
    """A server whose start can be awaited, without signal handlers."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.up.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no more requests, and let those in flight end until `timeouts.drain` is over or `force_exit`
        is set. Then cancel them, and wait until they have answered: uvicorn itself would not.
        """
        for listener in (*self.servers, *(sockets or ())):
            listener.close()
        state = self.server_state
        for connection in list(state.connections):
            connection.shutdown()
        with suppress(TimeoutError):
            async with asyncio.timeout(self.config.timeout_graceful_shutdown):
                while (state.connections or state.tasks) and not self.force_exit:  # noqa: ASYNC110
                    await asyncio.sleep(_LOOK_EVERY_S)
        if cut := list(state.tasks):
            for task in cut:
                task.cancel()
            await asyncio.wait(cut, timeout=_CUT_S)


class ClientConnection(HttpToolsProtocol):
    """uvicorn's connection, which calls back when the client leaves: a task that waits for that costs more
    than everything else that the server does for a request.

    An offer to upgrade to another protocol than WebSocket, such as HTTP/2 (curl and Java's client make it
    with their first request), is declined by answering the request: RFC 9110, section 7.8. The parser ends a
    message at such a header, whatever body follows, so it gets the request again, without the offer.
    """

    _unanswered: tuple[Any, ...] = ()
    """The cycles of requests that were read and whose answers aren't complete, pipelined ones included."""
    _on_gone: Callable[[], None] | None = None
    _declining = False
    """The head of a request with such an offer is being read."""

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
            self._refuse("Invalid HTTP request received.")

    def handle_websocket_upgrade(self) -> None:
        """Hand the connection over, unless answers are due on it, or the handshake isn't ASCII: other bytes
        can't be read there.
        """
        fields = [value for name, value in self.headers if name.startswith(b"sec-websocket-")]
        if self._due() or not all(value.isascii() for value in fields):
            self._refuse("Invalid WebSocket handshake received.")
        else:
            super().handle_websocket_upgrade()

    def _due(self) -> list[Any]:
        """The cycles whose answers aren't complete."""
        return [cycle for cycle in self._unanswered if not cycle.response_complete]

    def _refuse(self, message: str) -> None:
        """Answer 400 and close; only close where that would stand in the midst of another answer."""
        self.logger.warning(message)
        if any(cycle.response_started for cycle in self._due()):
            self.transport.close()
        else:
            self.send_400_response(message)
        self._abandon()

    def _abandon(self) -> None:
        """Let no request write any more."""
        for cycle in self._due():
            cycle.disconnected = True
            cycle.message_event.set()

    def on_headers_complete(self) -> None:
        offers = self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT"
        self._declining = offers and not self._should_upgrade()
        if not self._declining:
            self._check_codings()
            super().on_headers_complete()
            cycles = (*self._unanswered, self.cycle)
            self._unanswered = tuple(one for one in cycles if one and not one.response_complete)
        if not offers:
            # Trailer fields behind the body must not pass for headers: RFC 9110, section 6.5.1.
            self.headers = []

    def _check_codings(self) -> None:
        """Refuse a body in other codings than chunks: the parser takes off chunks alone, and says nothing."""
        codings = [value for name, value in self.headers if name == b"transfer-encoding"]
        if codings and [one.lower() for one in codings] != [b"chunked"]:
            raise ValueError(f"Transfer-Encoding is {codings}")

    def on_message_complete(self) -> None:
        if not self._declining:
            super().on_message_complete()

    def _decline(self, rest: bytes) -> None:
        """Read the request again without its offer, then the bytes behind its head."""
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
        self.scope["extensions"] = {WHEN_GONE: {"call": self._call_when_gone}}

    def _call_when_gone(self, told: Callable[[], None] | None) -> None:
        """Call this when the client leaves, at once if it has left; None: don't."""
        self._on_gone = told
        if told is not None and self.transport.is_closing():
            told()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._abandon()
        if self._on_gone is not None:
            self._on_gone()


class WebSocketConnection(WebSocketsSansIOProtocol):
    """uvicorn's connection, which ends where bytes that are no frames follow a handshake under way."""

    def handle_parser_exception(self) -> None:
        if self.conn.close_sent is None:
            self.queue.put_nowait({"type": "websocket.disconnect", "code": 1006, "reason": ""})
            self.close_sent = True
            self.transport.close()
        else:
            super().handle_parser_exception()


class LazyApplication:
    """An application that is made in a thread. Only its own requests wait for it."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.made: asyncio.Task[Any] = asyncio.create_task(asyncio.to_thread(make))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        application = await asyncio.shield(self.made)
        await application(scope, receive, send)


def make_server(settings: Settings, app: Any, *, websockets: bool = False) -> HttpServer:
    """A server of an ASGI application, with the configured limits."""
    return HttpServer(server_config(settings, app, websockets=websockets))


def server_config(settings: Settings, app: Any, *, websockets: bool) -> uvicorn.Config:
    """The configuration of each of our servers."""
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
        ws=WebSocketConnection if websockets else "none",
        ws_max_size=settings.limits.body,
    )


async def serve_on(servers: Sequence[uvicorn.Server], listeners: Sequence[socket.socket]) -> None:
    """Serve until `stop`, then until the requests in flight have ended or `timeouts.drain` is over."""
    await asyncio.gather(
        *(server._serve([listener]) for server, listener in zip(servers, listeners, strict=True))
    )


def stop(servers: Sequence[uvicorn.Server]) -> None:
    """Stop taking requests and let those in flight end; on a second call, cut them."""
    if in_flight := sum(len(server.server_state.tasks) for server in servers):
        if all(server.should_exit for server in servers):
            _log.warning("requests in flight are cut", in_flight=in_flight)
        else:
            _log.warning(
                "stopping when the requests in flight have ended; a second signal cuts them",
                in_flight=in_flight,
                at_most_s=servers[0].config.timeout_graceful_shutdown,
            )
    for server in servers:
        server.force_exit = server.should_exit
        server.should_exit = True


def tune_garbage_collection() -> None:
    """Run the cycle collector seldom, and never on the objects that exist now. Call it when all is imported.

    A request's objects are freed by reference counts when it is over. Sessions and their histories stay, but
    have no cycles, and collecting them again and again took a tenth of a turn.
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
            return  # macOS reports no hard limit and refuses it: keep the soft one
