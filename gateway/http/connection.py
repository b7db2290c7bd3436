"""A client's connection to the data plane: one request after the other, each served by one task."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from collections.abc import Callable, Coroutine
from math import inf
from typing import Any, cast

import structlog

from crosswind.gateway.errors import ServiceError
from crosswind.gateway.http.connection_table import (
    ConnectionTable,
    Refusal,
    drain_deadline,
    make_late_error,
    peer_address,
    refuse_connection,
)
from crosswind.gateway.http.headers import WrittenHeaders, status_line
from crosswind.gateway.http.request import JSON, ClientGone, HttpRequest
from crosswind.gateway.http.request_head import LikeHeads, RequestHead
from crosswind.gateway.http.request_reader import RequestReader
from crosswind.gateway.http.websocket import WebSocketConnection

_log = structlog.get_logger("crosswind.http")

MOST_AHEAD = 64 << 10
"""How many bytes of further requests are read while one is served."""
TIMED_PART = 64 << 10
"""`timeouts.body` holds for each such part of a body."""
_FAILED = ServiceError(500, "the gateway failed; see its log", kind="server_error", code="internal")

Handler = Callable[[HttpRequest], Coroutine[Any, Any, None]]


class ClientConnection(asyncio.Protocol):
    """Reads requests, starts their tasks, and writes what they answer."""

    __slots__ = (
        "_address",
        "_begun",
        "_drained",
        "_half_open",
        "_handle",
        "_heads",
        "_like",
        "_loop",
        "_partial",
        "_reader",
        "_reading",
        "_request",
        "_served",
        "_timed",
        "budget",
        "closes",
        "closing",
        "deadline",
        "paused",
        "send_deadline",
        "stays",
        "table",
        "task",
        "transport",
    )

    def __init__(
        self, table: ConnectionTable, handle: Handler, *, begun: bytes = b"", stays: bool = False
    ) -> None:
        """`begun`: what another process read of a request, and handed on. `stays`: the request is served
        here, since it can't be elsewhere.
        """
        self.table = table
        self._begun = begun
        self.stays = stays
        self.budget = table.budget
        self._handle = handle
        self._loop = asyncio.get_running_loop()
        self._heads = table.heads
        self._reader = RequestReader(table.heads)
        self._like: LikeHeads | None = None
        self._request: HttpRequest | None = None
        """The request that is read or answered."""
        self.task: asyncio.Task[None] | None = None
        self._served = False
        """A request came over this connection."""
        self._half_open = False
        self._partial = False
        """The beginning of a head is here."""
        self._reading = True
        self.closes = False
        """The connection ends with the answer that is due."""
        self._timed = 0
        self._drained: asyncio.Future[None] | None = None
        self.closing = False
        """Nothing more is read from the client, or written to it."""
        self.paused = False
        """The client reads so slowly that no more should be written."""
        self.deadline = self.send_deadline = inf
        self._address = ""

    @property
    def serving(self) -> bool:
        """Whether an answer is due."""
        return self._request is not None and not self._request.complete

    # The transport's callbacks

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self._address, file = peer_address(transport)
        refusal = self.table.find_refusal(self._address, file)
        if refusal is not None:
            self.table.count_refused(refusal)
            write_error(self.transport, refuse_connection(refusal))
            return self._close()
        self.table.add(self, self._address)
        now = self._loop.time()
        self.deadline = (
            drain_deadline(now, new=True) if self.table.draining else now + self.table.timeouts.header
        )
        self._set_half_open(True)
        if self._begun:
            # The transport begins to read after this, and would undo a pause.
            self._loop.call_soon(self.data_received, b"")

    def connection_lost(self, exc: Exception | None) -> None:
        self.closing = True
        self._set_half_open(False)
        self.table.remove(self, self._address)
        self.resume_writing()
        if self._request is not None:
            request, self._request = self._request, None
            self.budget.release_all(request)
            request.leave()
        self._reader.rest()

    def eof_received(self) -> None:
        """The client has left: by closing, or by closing its half, which agents do only when they leave."""

    def data_received(self, data: bytes) -> None:
        if self.closing:
            return
        if self._begun:
            data, self._begun = self._begun + data, b""
        if self._request is None:
            if self._reader.at_start and (whole := self._read_whole(data)) is not None:
                return self._begin(*whole)
            self._read(data)
        elif not self._request.arrived:
            self._read(data)
        else:
            self._reader.wait(data)
        if self._reader.waiting > MOST_AHEAD and self._request is not None:
            self._pause_reading()

    def _read_whole(self, data: bytes) -> tuple[RequestHead, bytes] | None:
        """As `HeadReader.read_request`. Most heads are like the one before on their connection."""
        like = self._like
        whole = None if like is None else like.read(data)
        if whole is None and (whole := self._heads.read_request(data)) is not None:
            self._like = whole[0].like
        return whole

    def pause_writing(self) -> None:
        self.paused = True
        self.send_deadline = self._loop.time() + self.table.timeouts.send

    def resume_writing(self) -> None:
        self.paused = False
        self.send_deadline = inf
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)

    # Reading

    def _read(self, data: bytes = b"") -> None:
        """Read up to the end of the request, and further ones only when it is answered."""
        reader = self._reader
        while True:
            part, last = b"", False
            for event in reader.read(data):
                if isinstance(event, RequestHead):
                    self._begin(event)
                elif isinstance(event, bytes):
                    part = event
                else:
                    last = True
            if part or last:
                self._receive(part, last=last)
            if reader.error is not None:
                return self._refuse_request(reader.error)
            if not last or self._request is not None or self.closing:
                break
            data = b""
        if self._request is None and not self.closing:
            self._wait_for_request()

    def _begin(self, head: RequestHead, body: bytes | None = None) -> None:
        """Serve the request of this head. `body`: the whole of it, if it is here."""
        self._served, self._partial, self._timed = True, False, 0
        if self._half_open:
            self._set_half_open(False)
        self._request = request = HttpRequest(self, head)
        if body is not None:
            self.deadline = inf
            request.receive_whole(body)
        else:
            bodiless = not (head.length or head.template.chunked)
            self.deadline = inf if bodiless else self._loop.time() + self.table.timeouts.body
        self.task = self._loop.create_task(self._handle(request))
        self.task.add_done_callback(self._end_task)

    def _receive(self, part: bytes, *, last: bool) -> None:
        request = self._request
        assert request is not None, "a body comes after its head"
        more = request.receive(part, last=last)
        if last:
            self.deadline = inf
            if request.complete:
                self._end_exchange()
        elif not more:
            self._pause_reading()
            self.deadline = inf
        elif not request.complete:
            self._timed += len(part)
            if self._timed >= TIMED_PART:
                self._timed, self.deadline = 0, self._loop.time() + self.table.timeouts.body

    def _wait_for_request(self) -> None:
        """Nothing is due: wait for the next request, or for the rest of its head."""
        partial = self._reader.waiting > 0
        if partial and not self._partial:
            # The time for a head runs from its first byte; later bytes don't restart it.
            if self._served:
                self.deadline = self._loop.time() + self.table.timeouts.header
            self._set_half_open(True)
        self._partial = partial

    def _pause_reading(self) -> None:
        if self._reading and not self.closing:
            self._reading = False
            self.transport.pause_reading()

    def read_on(self) -> None:
        """Read from the client again."""
        if not self._reading and not self.closing:
            self._reading = True
            self._timed = 0
            if self._request is not None and not self._request.arrived:
                self.deadline = self._loop.time() + self.table.timeouts.body
            self.transport.resume_reading()

    # Answering

    async def wait_until_drained(self) -> None:
        """Wait while it is `paused` and the client is there."""
        while self.paused and not self.closing:
            if self._drained is None or self._drained.done():
                self._drained = self._loop.create_future()
            await asyncio.shield(self._drained)

    def keeps(self, head: WrittenHeaders) -> bool:
        """Whether an answer of this head can be written now, and the connection stays open after it."""
        return not (head.closes or self.closes or self.closing or self.paused or self.table.draining)

    def end_answer(self, request: HttpRequest) -> None:
        """The answer is written."""
        if request is not self._request or self.closing:
            return
        if request.arrived:
            self._end_exchange()
            if self._reader.waiting and not self.closing:
                self._read()
            if not self._reading and self._reader.waiting <= MOST_AHEAD:
                self.read_on()
        elif self.closes:
            self._linger()
        else:  # the rest of the body is dropped, for a while
            self.read_on()
            self.deadline = self._loop.time() + self.table.timeouts.body

    def _linger(self) -> None:
        """Close once the client has closed, or `timeouts.linger` is over: if a connection is closed while its
        client sends, the system resets it, and the answer is lost.
        """
        if self.closing:
            return
        self.read_on()
        self.closing = True
        self.deadline = self._loop.time() + self.table.timeouts.linger
        if self.transport.can_write_eof():
            self.transport.write_eof()

    def _end_exchange(self) -> None:
        """The request is here, and its answer is written."""
        request, self._request = self._request, None
        assert request is not None, "an exchange ends after it began"
        if request.head.template.encoded:
            self.budget.release_all(request)
        elif request.held:
            self.budget.received -= request.held
            self.budget.released += request.held
        self.stays = False
        if self.closes:
            return self._linger()
        now = self._loop.time()
        self.deadline = (
            drain_deadline(now, new=False) if self.table.draining else now + self.table.timeouts.keep_alive
        )

    def cut(self, *, reset: bool) -> None:
        """Close the connection. What was written arrives, unless it is `reset`."""
        if not reset:
            return self._close()
        connection: socket.socket | None = self.transport.get_extra_info("socket")
        if connection is not None and not self.closing:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.abort()

    def abort(self) -> None:
        self.closing = True
        self.transport.abort()

    def _close(self) -> None:
        self.closing = True
        self.transport.close()

    def _end_task(self, task: asyncio.Task[None]) -> None:
        """The request's task is over. Unless it answered, there is nobody else who can."""
        error = None if task.cancelled() else task.exception()
        request = self._request
        if error is not None:
            _log.error("a request's task failed", exc_info=error)
        if request is None or task is not self.task or self.closing or (request.complete and error is None):
            return
        if error is not None and not request.started:
            self._refuse(_FAILED)
        else:
            self._close()

    # Refusing

    def shed(self) -> None:
        """The request finds no room in the memory budget: close the connection after its answer."""
        self.closes = True
        self.table.count_refused(Refusal.MEMORY)

    def _refuse_request(self, error: ServiceError) -> None:
        """Refuse what was read: with an answer, unless another answer is being sent."""
        self.table.count_refused(Refusal(error.code))
        if self._request is None:
            self._refuse(error)
        else:
            self._fail(self._request, error)

    def _fail(self, request: HttpRequest, error: ServiceError) -> None:
        """The rest of the body can't come: whoever reads it gets the error, and answers with it."""
        if request.started:
            self._close()
        else:
            self.closes = True
            request.fail(error)

    def _refuse(self, error: ServiceError) -> None:
        """Answer with an error, and close."""
        write_error(self.transport, error, self.table.error_body(self._reader.refused, error))
        self._linger()

    # Deadlines

    def expire(self) -> None:
        self.deadline = inf
        request = self._request
        if self.closing:
            self.transport.close()
        elif request is None and self._partial:
            self.table.count_refused(Refusal.HEADER_TIME)
            self._refuse(make_late_error(Refusal.HEADER_TIME))
        elif request is None or request.complete:
            if not self._served and not self.table.draining:
                self.table.count_refused(Refusal.HEADER_TIME)
            self._close()
        else:
            self.table.count_refused(Refusal.BODY_TIME)
            self._fail(request, make_late_error(Refusal.BODY_TIME))

    def drain(self, now: float) -> None:
        if self.closing or (self._request is None and not self._partial):
            self.deadline = drain_deadline(now, new=not self._served)

    def cancel(self) -> None:
        """End the request that is served."""
        self.closes = True
        if self.task is not None and not self.task.done():
            self.task.cancel()
        else:
            self._close()

    def _set_half_open(self, half_open: bool) -> None:
        if half_open != self._half_open:
            self._half_open = half_open
            self.table.half_open += 1 if half_open else -1

    # Another process, another protocol

    def hand_on(
        self, request: HttpRequest, body: bytes, send: Callable[[socket.socket, bytes], bool]
    ) -> bool:
        """Let another process serve the request, and the connection from now on; False where that can't be.
        `body` is what arrived of it. `send` gives the connection away, with the bytes that were read.
        """
        here: Any = self.transport.get_extra_info("socket")
        unsent = self.transport.get_write_buffer_size()
        if here is None or self.stays or self.closing or unsent or request is not self._request:
            return False
        head = request.head
        if request.arrived and head.template.chunked:
            body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body) if body else b"0\r\n\r\n"
        begun = b"%b\r\n%b" % (head.raw, self._reader.replay(body))
        with socket.socket(fileno=os.dup(here.fileno())) as connection:
            if not send(connection, begun):
                return False
        request.complete = True
        self.abort()
        return True

    def upgrade(self, websocket: WebSocketConnection, subprotocol: str | None) -> None:
        """Hand the connection over to the WebSocket whose handshake the request is."""
        if self.closing:
            raise ClientGone
        self._request, self.closing = None, True
        self.table.remove(self, self._address)
        self.transport.set_protocol(websocket)
        websocket.accept(self.transport, self.table, self._address, subprotocol, self._reader.rest())


def write_error(transport: asyncio.Transport, error: ServiceError, body: bytes | None = None) -> None:
    """Answer with an error, in OpenAI's shape unless a `body` is given, and close the connection."""
    body = error.body() if body is None else body
    headers = [*JSON, *error.headers, (b"content-length", b"%d" % len(body)), (b"connection", b"close")]
    lines = b"".join([b"%b: %b\r\n" % field for field in headers])
    transport.write(b"%b%b\r\n%b" % (status_line(error.status), lines, body))
