"""Serve an ASGI application under uvicorn, behind the data plane's reader, limits and deadlines.

uvicorn gets each request as it was read: with a head that was found to be in order, in its own framing, and
without what it would misread: offers of another protocol, and trailers.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from math import inf
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from crosswind.gateway.errors import ServiceError
from crosswind.gateway.http.connection import MOST_AHEAD, TIMED_PART, write_error
from crosswind.gateway.http.connection_table import (
    CUT_S,
    ConnectionTable,
    Refusal,
    drain_deadline,
    make_late_error,
    peer_address,
    refuse_connection,
)
from crosswind.gateway.http.memory_budget import out_of_memory_budget
from crosswind.gateway.http.request_head import RequestHead
from crosswind.gateway.http.request_reader import Event, RequestReader

_LEFT_OUT = (b"upgrade", b"connection")
_LOOK_EVERY_S = 0.05
"""How often the server looks whether the requests in flight have ended, as uvicorn itself does."""


class AsgiServer(uvicorn.Server):
    """A server of an application, without signal handlers."""

    def __init__(self, table: ConnectionTable, app: Any) -> None:
        self.table = table
        super().__init__(
            uvicorn.Config(
                app,
                loop="none",
                http=partial(AsgiConnection, table),  # type: ignore[arg-type]
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                date_header=False,
                proxy_headers=False,
                timeout_keep_alive=int(table.timeouts.keep_alive) or 1,
                timeout_graceful_shutdown=int(table.timeouts.drain) or 1,
            )
        )
        self.up = asyncio.Event()

    @property
    def stopping(self) -> bool:
        return self.should_exit

    @property
    def in_flight(self) -> int:
        return len(self.server_state.tasks)

    def stop(self) -> None:
        self.force_exit = self.should_exit
        self.should_exit = True

    async def run(self, listener: socket.socket) -> None:  # type: ignore[override]
        await self._serve([listener])

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.table.start()
        self.up.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no more requests, and let those in flight end until `timeouts.drain` is over or `force_exit`
        is set. Then cancel them, and wait until they have answered: uvicorn itself would not.
        """
        for listener in (*self.servers, *(sockets or ())):
            listener.close()
        await self.table.drain()
        state = self.server_state
        for connection in list(state.connections):
            connection.shutdown()
        with suppress(TimeoutError):
            async with asyncio.timeout(self.table.timeouts.drain):
                while (state.connections or state.tasks) and not self.force_exit:  # noqa: ASYNC110
                    await asyncio.sleep(_LOOK_EVERY_S)
        if cut := list(state.tasks):
            for task in cut:
                task.cancel()
            await asyncio.wait(cut, timeout=CUT_S)
        await self.table.stop()


class AsgiConnection(HttpToolsProtocol):
    """uvicorn's connection, which gets only what the reader let through, one request at a time."""

    def __init__(self, table: ConnectionTable, **given: Any) -> None:
        super().__init__(**given)
        self.table = table
        self.deadline = self.send_deadline = inf
        self._reader = RequestReader(table.heads)
        self._address = ""
        self._half_open = False
        self._closing = False
        """Nothing more is read."""
        self._arrived = True
        """The request, if there is one, is here to its end."""
        self._chunked = False
        self._timed = 0
        self.held = self.decoded = 0
        """How much of the memory budget the body takes."""
        self.over = False

    # The transport's callbacks

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._address, file = peer_address(transport)
        refusal = self.table.find_refusal(self._address, file)
        if refusal is not None:
            self._closing = True
            self.table.count_refused(refusal)
            write_error(transport, refuse_connection(refusal))
            return transport.close()
        self.table.add(self, self._address)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._closing = True
        self._set_half_open(False)
        self.table.budget.release_all(self)
        self.table.remove(self, self._address)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._closing:
            return
        if self._due and self._arrived:
            self._reader.wait(data)
            if self._reader.waiting > MOST_AHEAD:
                self.flow.pause_reading()  # until the answer is complete
        else:
            self._read(data)

    def pause_writing(self) -> None:
        super().pause_writing()
        self.send_deadline = self.loop.time() + self.table.timeouts.send

    def resume_writing(self) -> None:
        super().resume_writing()
        self.send_deadline = inf

    # Reading

    @property
    def _due(self) -> bool:
        """Whether an answer is."""
        return self.cycle is not None and not self.cycle.response_complete

    def _read(self, data: bytes = b"") -> None:
        """Read one request after the other, while no answer is due."""
        while events := self._reader.read(data):
            for event in events:
                if not self._pass_on(event):
                    self.table.count_refused(Refusal.MEMORY)
                    return self._refuse(out_of_memory_budget(self.table.budget.limit))
            if self._due:
                break
            data = b""
        if self._reader.error is not None:
            self.table.count_refused(Refusal(self._reader.error.code))
            return self._refuse(self._reader.error)
        if self._reader.waiting and self._arrived and not self._half_open:
            self._await_head()

    def _pass_on(self, event: Event) -> bool:
        """Give uvicorn what was read, in its own framing; return whether there was room for it."""
        if isinstance(event, RequestHead):
            self._arrived, self._chunked, self._timed = False, event.template.chunked, 0
            self._set_half_open(False)
            self.deadline = self.loop.time() + self.table.timeouts.body
            super().data_received(_without_offers(event))
        elif isinstance(event, bytes):
            if not self.table.budget.take(self, len(event)):
                return False
            self._timed += len(event)
            if self._timed >= TIMED_PART:
                self._timed, self.deadline = 0, self.loop.time() + self.table.timeouts.body
            super().data_received(b"%x\r\n%b\r\n" % (len(event), event) if self._chunked else event)
        else:
            self._arrived, self.deadline = True, inf
            if self._chunked:
                super().data_received(b"0\r\n\r\n")
        return True

    def _await_head(self) -> None:
        self.deadline = self.loop.time() + self.table.timeouts.header
        if self.table.draining:
            self.deadline = drain_deadline(self.loop.time(), new=True)
        self._set_half_open(True)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self.table.budget.release(self, self.held)
        if self._arrived and not self._closing:
            self._read()

    def _set_half_open(self, half_open: bool) -> None:
        if half_open != self._half_open:
            self._half_open = half_open
            self.table.half_open += 1 if half_open else -1

    # Refusing

    def _refuse(self, error: ServiceError) -> None:
        """Answer with an error, unless another answer has begun, and close."""
        self._closing = True
        if not (self._due and self.cycle.response_started):
            write_error(self.transport, error)
        if self._due:
            self.cycle.disconnected = True
            self.cycle.waiting_for_100_continue = False  # it can't be written any more
            self.cycle.message_event.set()
        self.flow.resume_reading()  # and drop what comes: unread, it would cost the client the answer
        self.deadline = self.loop.time() + self.table.timeouts.linger
        if self.transport.can_write_eof():
            self.transport.write_eof()

    # Deadlines

    @property
    def serving(self) -> bool:
        return self._due

    def expire(self) -> None:
        self.deadline = inf
        silent = self._half_open and not self._reader.waiting
        if self._closing or silent or not (self._half_open or self._due):
            self.transport.close()
        else:
            refusal = Refusal.HEADER_TIME if self._half_open else Refusal.BODY_TIME
            self.table.count_refused(refusal)
            self._refuse(make_late_error(refusal))

    def abort(self) -> None:
        self.transport.abort()

    def cancel(self) -> None:
        self.transport.close()

    def drain(self, now: float) -> None:
        """uvicorn ends connections by itself, when their answers are complete."""


def _without_offers(head: RequestHead) -> bytes:
    """The head as it came, but for an offer of another protocol: it is declined by answering the request."""
    if b"upgrade" not in head.first:
        return head.raw + b"\r\n"
    lines = [head.raw.partition(b"\r\n")[0]]
    lines += [b"%b: %b" % field for field in head.headers if field[0] not in _LEFT_OUT]
    if not head.template.keep_alive:
        lines.append(b"connection: close")
    return b"\r\n".join([*lines, b"", b""])


class LazyApplication:
    """An application that is made in a thread. Only its own requests wait for it."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.made: asyncio.Task[Any] = asyncio.create_task(asyncio.to_thread(make))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        application = await asyncio.shield(self.made)
        await application(scope, receive, send)
