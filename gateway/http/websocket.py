"""A client's WebSocket: the frames of `websockets`' protocol without I/O, over a connection handed over."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections import deque
from math import inf
from typing import TYPE_CHECKING

from websockets.exceptions import InvalidState
from websockets.extensions.permessage_deflate import ServerPerMessageDeflateFactory
from websockets.frames import Frame, Opcode
from websockets.http11 import Request, Response
from websockets.server import ServerProtocol

from crosswind.gateway.errors import ServiceError
from crosswind.gateway.http.request_head import RequestHead

if TYPE_CHECKING:
    from crosswind.gateway.http.connection_table import ConnectionTable

_PING_EVERY_S = 20.0
_SLICE = 16 << 10
"""How many bytes are parsed at a time: thousands of frames have room in a few."""
_CLOSE_WITHIN_S = 10.0
"""How long the client's part of the closing handshake is waited for."""
_NO_CODE, _ABNORMAL, _RESTART = 1005, 1006, 1012
_HANDSHAKE = b"sec-websocket-"
_FAILED = ("the WebSocket's handshake can't be accepted: ", "invalid_handshake")


class WebSocketClosed(Exception):
    """Nothing can be sent any more."""


class WebSocketConnection(asyncio.Protocol):
    """Receives and sends whole messages. Who receives none holds the client back."""

    def __init__(self, head: RequestHead, limit: int) -> None:
        """Check the handshake. ServiceError where it isn't in order. `limit` bounds a message, in bytes."""
        self._protocol = ServerProtocol(
            extensions=[
                ServerPerMessageDeflateFactory(
                    server_max_window_bits=12, client_max_window_bits=12, compress_settings={"memLevel": 5}
                )
            ],
            max_size=limit,
            logger=logging.getLogger("crosswind.websockets"),
        )
        self._response = _accept(self._protocol, head)
        self._unparsed = bytearray()
        self._messages: deque[str | bytes] = deque()
        self._begun = bytearray()
        """What came of a message."""
        self._text = False
        self._arrived = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self._reading = True
        self._over = False
        """No more messages come."""
        self.close_code, self.close_reason = _ABNORMAL, ""
        self._ping: bytes | None = None
        """The ping that no pong answered."""
        self._timer: asyncio.TimerHandle | None = None
        self.deadline = self.send_deadline = inf

    def accept(
        self,
        transport: asyncio.Transport,
        table: ConnectionTable,
        address: str,
        subprotocol: str | None,
        rest: bytes,
    ) -> None:
        """Take the connection over, and answer the handshake. `rest`: bytes that came behind it."""
        self._transport, self._table, self._address = transport, table, address
        self._loop = asyncio.get_running_loop()
        self._table.add(self, address)
        del self._response.headers["Date"]
        if subprotocol is not None:
            self._response.headers["Sec-WebSocket-Protocol"] = subprotocol
        self._protocol.send_response(self._response)
        self._flush()
        self._timer = self._loop.call_later(_PING_EVERY_S, self._send_ping)
        if table.draining:
            self.drain(0.0)
        elif rest:
            self.data_received(rest)

    # What the client says

    async def receive(self) -> str | bytes | None:
        """The next message; None once the connection is closed, with `close_code` and `close_reason`."""
        while not self._messages and not self._over:
            self._arrived.clear()
            self._read_on()
            await self._arrived.wait()
        if not self._messages:
            return None
        message = self._messages.popleft()
        if not self._messages:
            self._read_on()
        return message

    def data_received(self, data: bytes) -> None:
        self._unparsed += data
        self._parse()

    def _parse(self) -> None:
        """Parse a slice of what came. The rest waits for the loop, and until its messages are taken: a few
        bytes may be a large message.
        """
        part = bytes(self._unparsed[:_SLICE])
        del self._unparsed[:_SLICE]
        self._protocol.receive_data(part)
        for event in self._protocol.events_received():
            if isinstance(event, Frame):
                self._receive_frame(event)
        self._flush()
        if self._protocol.parser_exc is not None or self._protocol.close_rcvd is not None:
            self._unparsed.clear()
            self._end()
            self._transport.close()
        elif self._unparsed:
            self._hold_back()
            self._loop.call_soon(self._parse_on)

    def _parse_on(self) -> None:
        waits = self._messages and self._protocol.close_sent is None
        if self._unparsed and not waits and not self._transport.is_closing():
            self._parse()
            if not self._unparsed and not self._messages:
                self._read_on()

    def _receive_frame(self, frame: Frame) -> None:
        match frame.opcode:
            case Opcode.TEXT | Opcode.BINARY:
                self._text, self._begun = frame.opcode is Opcode.TEXT, bytearray(frame.data)
            case Opcode.CONT:
                self._begun += frame.data
            case Opcode.PONG:
                if self._ping is not None and bytes(frame.data) == self._ping:
                    self._ping = None
                return
            case _:
                return
        if not frame.fin:
            return
        message, self._begun = bytes(self._begun), bytearray()
        try:
            self._messages.append(message.decode() if self._text else message)
        except UnicodeDecodeError:
            self._protocol.fail(1007)
            return
        self._arrived.set()
        self._hold_back()

    def _hold_back(self) -> None:
        if self._reading:
            self._reading = False
            self._transport.pause_reading()

    def _read_on(self) -> None:
        if self._unparsed:
            self._loop.call_soon(self._parse_on)
        elif not self._reading and not self._transport.is_closing():
            self._reading = True
            self._transport.resume_reading()

    def _end(self) -> None:
        """No more messages come: note how it was closed."""
        if not self._over:
            self._over = True
            close = self._protocol.close_rcvd or self._protocol.close_sent
            if close is not None:
                self.close_code, self.close_reason = close.code, close.reason
        self._arrived.set()

    # What it is told

    async def send(self, message: str | bytes) -> None:
        """Send a message. WebSocketClosed where that is no longer possible."""
        await self._writable.wait()
        if self._over:
            raise WebSocketClosed
        try:
            if isinstance(message, str):
                self._protocol.send_text(message.encode())
            else:
                self._protocol.send_binary(message)
        except InvalidState:
            raise WebSocketClosed from None
        self._flush()

    async def close(self, code: int, reason: str = "") -> None:
        """Close it, and wait a while for the client to do so, too."""
        await self._writable.wait()
        if not self._over and not self._transport.is_closing():
            self._send_close(code, reason)
            self._read_on()

    def end(self) -> None:
        """Nothing is relayed any more: close the connection, unless its closing is under way."""
        if self._protocol.close_sent is None:
            self._transport.close()

    def _send_close(self, code: int, reason: str = "") -> None:
        if self._protocol.close_sent is None:
            self._protocol.send_close(code, reason)
            self._flush()
        self._set_timer(_CLOSE_WITHIN_S, self._transport.close)

    def _flush(self) -> None:
        if data := b"".join(self._protocol.data_to_send()):
            self._transport.write(data)

    def _set_timer(self, seconds: float, call: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(seconds, call)  # type: ignore[arg-type]

    def _send_ping(self) -> None:
        if self._ping is not None:
            self._protocol.fail(1011, "keepalive ping timeout")
            self._flush()
            self._end()
            return self._transport.close()
        if self._protocol.close_sent is None and not self._transport.is_closing():
            self._ping = secrets.token_bytes(4)
            self._protocol.send_ping(self._ping)
            self._flush()
            self._set_timer(_PING_EVERY_S, self._send_ping)

    # The transport's other callbacks, and the table's

    def connection_lost(self, exc: Exception | None) -> None:
        self._table.remove(self, self._address)
        if self._timer is not None:
            self._timer.cancel()
        if not self._over and self._protocol.close_rcvd is None:
            self.close_code = _NO_CODE
            self._over = True
        self._arrived.set()
        self._writable.set()

    def pause_writing(self) -> None:
        self._writable.clear()
        self.send_deadline = self._loop.time() + self._table.timeouts.send

    def resume_writing(self) -> None:
        self._writable.set()
        self.send_deadline = inf

    def expire(self) -> None:
        self._transport.close()

    def abort(self) -> None:
        self._transport.abort()

    @property
    def serving(self) -> bool:
        return not self._over

    def cancel(self) -> None:
        self._transport.abort()

    def drain(self, now: float) -> None:
        """The server ends: the client may connect to another."""
        if self._protocol.close_sent is None:
            self._protocol.send_close(_RESTART)
            self._flush()
        self._end()
        self._transport.close()


def _accept(protocol: ServerProtocol, head: RequestHead) -> Response:
    """The answer 101 to a handshake. ServiceError where it isn't in order."""
    what, code = _FAILED
    if not all(value.isascii() for name, value in head.headers if name.startswith(_HANDSHAKE)):
        raise ServiceError(400, f"{what}its headers aren't ASCII", code=code)
    protocol.receive_data(head.raw + b"\r\n")
    request = next((event for event in protocol.events_received() if isinstance(event, Request)), None)
    if request is None:
        raise ServiceError(400, f"{what}its headers can't be read", code=code)
    response = protocol.accept(request)
    if response.status_code != 101:
        why = response.body.decode().partition(": ")[2].partition("\n")[0].rstrip(".")
        headers = [(b"upgrade", b"websocket")] if response.status_code == 426 else []
        raise ServiceError(response.status_code, f"{what}{why}", code=code, headers=headers)
    return response
