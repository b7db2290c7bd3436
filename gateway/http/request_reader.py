"""Frame HTTP/1 requests: a reader without I/O, which bounds all that it keeps while it reads."""

from __future__ import annotations

import re
from enum import Enum

from crosswind.gateway.errors import ServiceError
from crosswind.gateway.http.request_head import (
    END_OF_HEAD,
    TEXT,
    HeadReader,
    RequestHead,
    check_fields,
    make_headers_error,
    make_syntax_error,
    make_url_error,
)

_CHUNK_LINE = re.compile(rb"([0-9A-Fa-f]{1,16})(?:;%b)?" % TEXT)
_BEGIN = frozenset(b"\r" + bytes(range(0x21, 0x7F)))
"""How a head may begin: more than that is found out when it is complete."""
_BARE_LINE_FEED = re.compile(rb"(?<!\r)\n")
_LONGEST_LINE_REST = 64
"""Bytes of a request line beside its target: the method and the version."""
_LONGEST_CHUNK_LINE = 1024
_SHOWN = 4096
"""How much of a refused request is kept, to tell by it how its client understands errors."""


class Mark(Enum):
    """What the reader tells beside heads and parts of bodies."""

    END = 0
    """The request is complete."""


Event = RequestHead | bytes | Mark


class _State(Enum):
    HEAD = 0
    BODY = 1
    CHUNKS = 2
    CHUNK_END = 3
    TRAILER = 4
    OVER = 5


class RequestReader:
    """Reads the requests of one connection."""

    __slots__ = (
        *("_at", "_data", "_heads", "_keep_alive", "_left", "_limits", "_line_ended", "_searched", "_state"),
        *("at_start", "error", "refused", "waiting"),
    )

    def __init__(self, heads: HeadReader) -> None:
        self._heads, self._limits = heads, heads.limits
        self._data: bytes | bytearray = b""
        """What was fed and isn't read yet, from `_at`."""
        self._at = 0
        self._searched = 0
        """Up to where the end of a head was searched for."""
        self._line_ended = False
        """Of the head that is incomplete, the request line is there."""
        self._state = _State.HEAD
        self._left = 0
        """Bytes to come of the body, or of the current chunk."""
        self._keep_alive = True
        self.at_start = True
        """The next byte begins a request."""
        self.waiting = 0
        """Bytes that came and weren't read."""
        self.error: ServiceError | None = None
        """Why nothing more can be read: the connection has to be closed."""
        self.refused = b""
        """The beginning of the request that was refused."""

    def read(self, data: bytes = b"") -> list[Event]:
        """Take bytes as they came; give what they complete of a request, at most up to its end. What follows
        is read by the next call.
        """
        if self._state is _State.OVER:
            return []
        self._feed(data)
        events: list[Event] = []
        try:
            while (event := self._next_event()) is not None:
                events.append(event)
                if event is Mark.END:
                    break
        except ServiceError as error:
            self.error = error.with_traceback(None)  # its frames hold this reader: a cycle
            self.refused = bytes(memoryview(self._data)[self._at : self._at + _SHOWN])
            self.rest()
        self.waiting = len(self._data) - self._at
        self.at_start = not self.waiting and self._state is _State.HEAD
        return events

    def wait(self, data: bytes) -> None:
        """Take bytes, and read nothing yet."""
        if self._state is not _State.OVER:
            self._feed(data)
            self.waiting, self.at_start = len(self._data) - self._at, False

    def _feed(self, data: bytes) -> None:
        if not self._data:
            self._data, self._at = data, 0
            return
        if not isinstance(self._data, bytearray):
            self._data = bytearray(memoryview(self._data)[self._at :])
        else:
            del self._data[: self._at]
        self._searched = max(self._searched - self._at, 0)
        self._at = 0
        self._data += data

    def rest(self) -> bytes:
        """Give away what was fed and not read, and read no more."""
        rest = bytes(self._data[self._at :])
        self._data, self._at, self._state, self.waiting = b"", 0, _State.OVER, 0
        self.at_start = False
        return rest

    def replay(self, body: bytes) -> bytes:
        """What another reader has to be fed, behind the head, to go on from here. `body`: what was read."""
        rest = bytes(self._data[self._at :])
        match self._state:
            case _State.CHUNKS | _State.CHUNK_END | _State.TRAILER:
                held = len(body) + self._left
                chunk = b"%x\r\n%b" % (held, body) if held else b""
                if self._state is _State.TRAILER:
                    return b"%b%b0\r\n%b" % (chunk, b"\r\n" if held else b"", rest)
                between = self._state is _State.CHUNKS and not self._left and held
                return chunk + (b"\r\n" if between else b"") + rest
            case _:
                return body + rest

    def _next_event(self) -> Event | None:
        """The next head, part of a body, or end of a request; None: more bytes are needed."""
        match self._state:
            case _State.HEAD:
                return self._read_head() if self._data else None
            case _State.BODY:
                return self._read_body()
            case _State.CHUNKS | _State.CHUNK_END:
                return self._read_chunks()
            case _State.TRAILER:
                return self._read_trailer()
            case _State.OVER:
                return None

    def _read_head(self) -> RequestHead | None:
        data = self._data
        if data.startswith(b"\r\n", self._at):  # one empty line before a request is no fault: RFC 9112, 2.2
            self._at += 2
        end = data.find(END_OF_HEAD, max(self._at, self._searched))
        if end < 0:
            self._check_beginning()
            return None
        raw = bytes(data[self._at : end + 2])
        head = self._heads.read(raw)
        self._advance(end + 4)
        self._searched, self._line_ended = 0, False
        self._keep_alive, self._left = head.template.keep_alive, head.length
        self._state = _State.CHUNKS if head.template.chunked else _State.BODY
        return head

    def _check_beginning(self) -> None:
        """Check what is there of a head: it may be endless, or never become one."""
        data, limits, size = self._data, self._limits, self._size()
        if not self._line_ended and size > limits.url + _LONGEST_LINE_REST:
            if data.find(b"\r\n", self._at, self._at + limits.url + _LONGEST_LINE_REST) < 0:
                raise make_url_error(limits)
            self._line_ended = True
        if size > limits.url + _LONGEST_LINE_REST + limits.header:
            raise make_headers_error(limits)
        if size and data[self._at] not in _BEGIN:
            raise make_syntax_error("it doesn't begin with a method")
        if _BARE_LINE_FEED.search(data, max(self._at, self._searched)):
            raise make_syntax_error("it has a line feed without a carriage return")
        self._searched = max(len(data) - 3, self._at)

    def _size(self) -> int:
        return len(self._data) - self._at

    def _advance(self, to: int) -> None:
        if to == len(self._data):
            self._data, self._at = b"", 0
        else:
            self._at = to

    def _take(self, count: int) -> bytes:
        """At most so many bytes."""
        data, at = self._data, self._at
        if at == 0 and len(data) <= count and isinstance(data, bytes):
            self._data = b""
            return data
        part = bytes(data[at : at + count])
        self._advance(at + len(part))
        return part

    def _read_body(self) -> bytes | Mark | None:
        if self._left == 0:
            return self._end_message()
        if part := self._take(self._left):
            self._left -= len(part)
            return part
        return None

    def _end_message(self) -> Mark:
        if self._keep_alive:
            self._state = _State.HEAD
        else:  # what follows is no request: RFC 9112, section 9.6
            self._state, self._data, self._at = _State.OVER, b"", 0
        return Mark.END

    def _read_chunks(self) -> bytes | Mark | None:
        """The data of all chunks that are there, as one part."""
        parts: list[bytes] = []
        while self._state is not _State.TRAILER and self._read_chunk(parts):
            pass
        if parts:
            return parts[0] if len(parts) == 1 else b"".join(parts)
        return self._read_trailer() if self._state is _State.TRAILER else None

    def _read_chunk(self, parts: list[bytes]) -> bool:
        """Read what is there of a chunk; False if more bytes are needed."""
        if self._left:
            part = self._take(self._left)
            if part:
                parts.append(part)
                self._left -= len(part)
            if self._left:
                return False
            self._state = _State.CHUNK_END
        if self._state is _State.CHUNK_END:
            if self._size() < 2:
                return False
            if not self._data.startswith(b"\r\n", self._at):
                raise make_syntax_error("a chunk is longer than it says")
            self._advance(self._at + 2)
            self._state = _State.CHUNKS
        end = self._data.find(b"\r\n", self._at, self._at + _LONGEST_CHUNK_LINE)
        if end < 0:
            if self._size() >= _LONGEST_CHUNK_LINE:
                raise make_syntax_error("a chunk's first line is too long")
            if _BARE_LINE_FEED.search(self._data, self._at):
                raise make_syntax_error("a chunk's first line can't be read")
            return False
        found = _CHUNK_LINE.fullmatch(self._data, self._at, end)
        if found is None:
            raise make_syntax_error("a chunk's first line can't be read")
        self._left = int(found[1], 16)
        self._advance(end + 2)
        if self._left == 0:
            self._state, self._searched = _State.TRAILER, 0
        return True

    def _read_trailer(self) -> Mark | None:
        """Read the fields behind the last chunk, and drop them: they must not pass for headers."""
        if self._data.startswith(b"\r\n", self._at):
            self._advance(self._at + 2)
            return self._end_message()
        end = self._data.find(END_OF_HEAD, max(self._at, self._searched))
        if (self._size() if end < 0 else end - self._at) > self._limits.header:
            raise make_headers_error(self._limits)
        if end < 0:
            if _BARE_LINE_FEED.search(self._data, max(self._at, self._searched)):
                raise make_syntax_error(
                    "a line behind its last chunk has a line feed without a carriage return"
                )
            self._searched = max(len(self._data) - 3, self._at)
            return None
        check_fields(bytes(self._data[self._at : end + 2]), self._limits)
        self._searched = 0
        self._advance(end + 4)
        return self._end_message()
