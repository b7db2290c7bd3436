"""A client's request and its answer: one object, which is served by one coroutine."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from crosswind.gateway.errors import ServiceError
from crosswind.gateway.http.headers import Headers, WrittenHeaders
from crosswind.gateway.http.memory_budget import out_of_memory_budget
from crosswind.gateway.http.request_head import RequestHead
from crosswind.gateway.http.websocket import WebSocketConnection

if TYPE_CHECKING:
    from crosswind.gateway.http.connection import ClientConnection

JSON: Headers = [(b"content-type", b"application/json")]
_OK = 200
_BODILESS = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})
_UNTIL_CLOSE = -1
_HIGH_WATER = 64 << 10
"""How many bytes of a body wait for whoever reads it in parts."""
_JOIN_UP_TO = 64 << 10
"""A larger part isn't copied to be sent in one piece with what goes before it."""


class ClientGone(Exception):
    """The client closed its connection before its request was complete."""


class HttpRequest:
    """A request and its answer, of which `started` and `complete` say how far it was sent."""

    # Most requests have these values to their end.
    started = complete = False
    gone = False
    broken = False
    """We closed the client's connection before the answer's end."""
    read = False
    """The request's body was read to its end."""
    arrived = False
    """The request's body is here to its end."""
    held = decoded = 0
    """How much of the memory budget is taken for it."""
    over = False
    _body: bytes | bytearray = b""
    """What arrived of the body and wasn't read."""
    _size = 0
    """How much of the body arrived."""
    _in_use: Callable[[], bool] | None = None
    """Whether the request is for a session in use, which is refused last."""
    _asked = False
    """The client was asked for the body by an answer 100."""
    _most = _HIGH_WATER
    """Beyond this size the body's reader is woken."""
    _failure: ServiceError | None = None
    """Why no more of the body comes."""
    _waiter: asyncio.Future[None] | None = None
    _watched: asyncio.Task[Any] | None = None
    """The task to cancel when the client leaves."""
    _out = b""
    """The answer's head, while it is to be sent with what follows."""
    _chunked = False
    _mute = False
    """Nothing of the body is written."""
    _left = 0
    """How many announced bytes of the answer are not yet written; _UNTIL_CLOSE if none were announced."""

    def __init__(self, connection: ClientConnection, head: RequestHead) -> None:
        self.head = head
        self._connection = connection

    @property
    def method(self) -> str:
        return self.head.template.method

    @property
    def raw_path(self) -> bytes:
        return self.head.template.path

    @property
    def query(self) -> bytes:
        return self.head.template.query

    @property
    def headers(self) -> Headers:
        """Their names are in lower case."""
        return self.head.headers

    @property
    def first(self) -> dict[bytes, bytes]:
        """The headers by name; the first of equal names counts."""
        return self.head.first

    @property
    def offers_websocket(self) -> bool:
        return self.head.offers_websocket

    def header(self, name: bytes) -> str | None:
        """The first value of a header (its name in lower case)."""
        value = self.head.template.first.get(name)
        if value is None and (value := self.head.own.get(name)) is None:
            return None
        return value.decode("latin-1").strip()

    # The body

    async def chunks(self) -> AsyncIterator[bytes]:
        """The request's body, part by part as it arrives."""
        self._ask_for_body()
        while not self.read:
            while not self._body and not self.arrived:
                self._most = 0
                await self._wait()
            self._most = _HIGH_WATER
            part = self._take_body()
            self._connection.budget.release(self, len(part))
            self._connection.read_on()
            if part:
                yield part

    def take_whole(self, limit: int) -> bytes | None:
        """The whole body, if it is here, isn't encoded, and there is nothing to refuse or to wait for."""
        budget = self._connection.budget
        if not self.arrived or self._size > limit or self.head.template.encoded:
            return None
        if self._failure is not None or budget.received + budget.decoded > budget.limit_of_new:
            return None
        body, self._body, self.read = self._body, b"", True
        return bytes(body)

    async def body(self, limit: int, in_use: Callable[[], bool] | None = None) -> bytes:
        """The whole body. ServiceError 413 above the limit, in bytes, 503 where all bodies together take too
        much, 408 where it is late. `in_use` says whether it is for a session in use, which is refused last.
        """
        if self.head.length > limit:
            raise _too_large(limit)
        self._in_use = in_use
        if self.held and not self._has_room(0):
            self.fail(self.refuse_body())
        self._ask_for_body()
        self._most = limit
        while not self.arrived and self._size <= limit:
            self._connection.read_on()
            await self._wait()
        if self._failure is not None:
            raise self._failure
        if self._size > limit:
            raise _too_large(limit)
        return self._take_body()

    def _take_body(self) -> bytes:
        body, self._body = self._body, b""
        self.read = self.arrived
        return bytes(body)

    @property
    def awaits_continue(self) -> bool:
        """Whether the client waits for an answer 100 before it sends the body."""
        return self.head.template.expects_continue and not (self._asked or self._size or self.arrived)

    def _ask_for_body(self) -> None:
        if self.head.template.expects_continue and self.awaits_continue and not self.started:
            self._asked = True
            self._connection.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    async def _wait(self) -> None:
        """Wait for more of the body."""
        if self._failure is not None:
            raise self._failure
        if self.gone:
            raise ClientGone
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None
        if self._failure is not None:
            raise self._failure
        if self.gone:
            raise ClientGone

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def receive_whole(self, body: bytes) -> None:
        """Take the body, which came as a whole."""
        size, budget = len(body), self._connection.budget
        if budget.received + budget.decoded + size > budget.limit_of_new:
            self.receive(body, last=True)
            return
        budget.received += size
        self.held = self._size = size
        self._body, self.arrived = body, True

    def receive(self, part: bytes, *, last: bool) -> bool:
        """Take a part of the body; return whether more may come at once."""
        self.arrived = last
        if last and self._waiter is not None:
            self._wake()
        if self.complete or self._failure is not None:
            return True  # it is dropped
        # Counted here instead of by a call: this is done for each part of each request.
        size, budget = len(part), self._connection.budget
        if not self._has_room(size):
            self.fail(self.refuse_body())
            return True
        budget.received += size
        self.held += size
        self._size += size
        if not self._body:
            self._body = part
        elif isinstance(self._body, bytearray):
            self._body += part
        else:
            self._body = bytearray(self._body) + part
        unread = len(self._body)
        if unread > self._most:
            self._wake()
        return unread <= max(self._most, _HIGH_WATER)

    def fail(self, error: ServiceError) -> None:
        """No more of the body comes: whoever reads it gets this error. What arrived is dropped."""
        self._failure = error
        self._body = b""
        self._connection.budget.release(self, self.held)
        self._wake()

    def _has_room(self, size: int) -> bool:
        """Whether the memory budget has room for so many bytes more."""
        budget = self._connection.budget
        held = budget.received + budget.decoded + size
        return held <= budget.limit_of_new or (held <= budget.limit and self._is_in_use())

    def _is_in_use(self) -> bool:
        return self._in_use is None or self._in_use()

    def refuse_body(self) -> ServiceError:
        """The error of a request whose body finds no room in the memory budget."""
        self._connection.shed()
        return out_of_memory_budget(self._connection.budget.limit)

    def hold_decoded(self, count: int) -> bool:
        """Take so much of the memory budget until the request is over; False if there is no room. In any
        thread.
        """
        return self._connection.budget.take_decoded(self, count, in_use=self._is_in_use())

    # A client that leaves

    def cancel_when_gone(self) -> None:
        """From now on, cancel the task that serves the request when the client leaves."""
        self._watched = self._connection.task
        if self._connection.closing:
            self.leave()

    def leave(self) -> None:
        """The client left."""
        if self.complete:
            return
        self.gone = True
        self._wake()
        if self._watched is not None:
            self._watched.cancel()

    # The answer

    async def start(self, status: int, headers: Headers | WrittenHeaders, *, follows: bool = False) -> None:
        """Send the answer's head. `follows`: a part or the end comes at once, and is sent with it."""
        self.started = True
        if self._connection.paused:
            await self._connection.wait_until_drained()
        self._out = self._compose_head(status, headers)
        if not follows:
            self._put(b"")

    def write(self, body: bytes) -> bool:
        """Send a part of the answer's body at once; False if that would have to wait."""
        if self.broken:
            return True
        connection = self._connection
        if connection.paused:
            return False
        if self._chunked and body and not (self._out or self._mute or connection.closing):
            connection.transport.write(b"%x\r\n%b\r\n" % (len(body), body))  # the usual part of a stream
        else:
            self._write(body)
        return True

    async def chunk(self, body: bytes) -> None:
        """Send a part of the answer's body."""
        if not self.write(body):
            await self._connection.wait_until_drained()
            self._write(body)

    async def end(self, body: bytes = b"") -> None:
        """Send the last part of the answer's body."""
        self.complete = True
        if self._connection.paused:
            await self._connection.wait_until_drained()
        if self._chunked:
            self._put(b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body) if body else b"0\r\n\r\n")
        else:
            self._count(body)
            self._put(body)
            if self._left > 0:
                raise RuntimeError("the answer is shorter than its content-length")
        self._connection.end_answer(self)

    async def answer(self, status: int, body: bytes, headers: Headers | WrittenHeaders = JSON) -> None:
        """Send a whole answer. `headers` say nothing about its length."""
        head = headers if isinstance(headers, WrittenHeaders) else WrittenHeaders.write(status, headers)
        if not self.answer_at_once(status, body, head):
            await self.answer_in_parts(status, body, head)

    def answer_at_once(self, status: int, body: bytes, head: WrittenHeaders) -> bool:
        """As `answer`; False, and nothing sent, where the answer or the connection is unusual."""
        template = self.head.template
        usual = self.arrived and len(body) <= _JOIN_UP_TO and status == _OK
        if not (usual and template.keep_alive and template.method != "HEAD" and self._connection.keeps(head)):
            return False
        self.started = self.complete = True
        lines = b"%bcontent-length: %d\r\n\r\n%b" % (head.lines, len(body), body)
        self._connection.transport.write(lines)
        self._connection.end_answer(self)
        return True

    async def answer_in_parts(self, status: int, body: bytes, head: WrittenHeaders) -> None:
        """As `answer`, where `answer_at_once` sends nothing."""
        lines = b"%bcontent-length: %d\r\n" % (head.lines, len(body))
        await self.start(status, WrittenHeaders(lines, len(body), closes=head.closes), follows=True)
        await self.end(body)

    def cut(self, *, reset: bool = False) -> None:
        """Close the connection before the answer's end. What was sent arrives, unless it is `reset`."""
        self.broken = self.complete = self.started = True
        self._connection.cut(reset=reset)

    def bare(self) -> HttpRequest:
        """The client itself."""
        return self

    def _compose_head(self, status: int, headers: Headers | WrittenHeaders) -> bytes:
        """The answer's head."""
        head = headers if isinstance(headers, WrittenHeaders) else WrittenHeaders.write(status, headers)
        out = head.lines
        connection = self._connection
        # Whether a client that waits for an answer 100 sends its body all the same can't be known.
        unsure = not self.arrived and self.awaits_continue
        if (
            head.closes
            or connection.closes
            or unsure
            or connection.table.draining
            or not self.head.template.keep_alive
        ):
            connection.closes = True
            if not head.closes:
                out += b"connection: close\r\n"
        if self.head.template.method == "HEAD":
            self._left, self._mute = _UNTIL_CLOSE, True
        elif status in _BODILESS:
            self._left = 0  # a 304 may announce the length of the body that it leaves out
        elif head.length is not None:
            self._left = head.length
        elif self.head.template.http_1_0:
            self._left = _UNTIL_CLOSE  # HTTP/1.0 has no chunks, and closes its connections
        else:
            self._chunked = True
            if not head.chunked:
                out += b"transfer-encoding: chunked\r\n"
        return out + b"\r\n"

    def _write(self, body: bytes) -> None:
        if body and self._chunked:
            body = b"%x\r\n%b\r\n" % (len(body), body)
        elif body:
            self._count(body)
        self._put(body)

    def _count(self, body: bytes) -> None:
        if self._left == _UNTIL_CLOSE:
            return
        self._left -= len(body)
        if self._left < 0:
            raise RuntimeError("the answer is longer than its content-length")

    def _put(self, data: bytes) -> None:
        connection = self._connection
        if self._mute:
            data = b""
        if head := self._out:
            self._out = b""
            if len(data) <= _JOIN_UP_TO:
                data = head + data
            elif not connection.closing:
                connection.transport.write(head)
        if data and not connection.closing:
            connection.transport.write(data)

    # Another process, another protocol

    def hand_on(self, send: Callable[[socket.socket, bytes], bool]) -> bool:
        """Let another process serve the request, of which nothing was read; False where that can't be."""
        return self._failure is None and self._connection.hand_on(self, bytes(self._body), send)

    def accept_websocket(self, websocket: WebSocketConnection, subprotocol: str | None) -> None:
        """Answer the handshake, and hand the connection over."""
        self.started = self.complete = True
        self._connection.upgrade(websocket, subprotocol)


def _too_large(limit: int) -> ServiceError:
    return ServiceError(
        413,
        f"the request's body is larger than {limit} bytes; send less, or raise limits.body",
        code="body_too_large",
    )
