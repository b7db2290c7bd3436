"""Frame HTTP/1 requests: a reader without I/O. Its grammar is h11's without what h11 forgives, and all that
it keeps is bounded while it is read.

A regular expression over a whole head costs a few µs more than a parser in C, and tells all that a proxy must
not pass on: bare line feeds, folded lines, control characters, two lengths, a length beside chunks.
"""

from __future__ import annotations

import re
from enum import Enum

import msgspec

from crosswind.gateway.errors import ServiceError
from crosswind.gateway.http.headers import Headers

_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_TEXT = rb"[\t\x20-\x7e\x80-\xff]*"
# Methods in capitals: whatever an upstream takes `post` for, it would pass the gateway by as another method.
_REQUEST_LINE = re.compile(rb"([A-Z][A-Z-]*) ([\x21-\x7e]+) HTTP/(\d)\.(\d)\r\n")
_FIELDS = re.compile(rb"(?:%b+:%b+\r\n)*+" % (_TOKEN, _TEXT))
_CHUNK_LINE = re.compile(rb"([0-9A-Fa-f]{1,16})(?:;%b)?" % _TEXT)
_ABSOLUTE = re.compile(rb"([Hh][Tt][Tt][Pp][Ss]?://[^/?#]+)(?:[/?].*)?")
_LENGTH = re.compile(rb"[0-9]{1,18}")
_BEGIN = frozenset(b"\r" + bytes(range(0x21, 0x7F)))
"""How a head may begin: more than that is found out when it is complete."""
_BARE_LINE_FEED = re.compile(rb"(?<!\r)\n")
_LONGEST_LINE_REST = 64
"""Bytes of a request line beside its target: the method and the version."""
_LONGEST_CHUNK_LINE = 1024
_ONLY_ONCE = (b"host", b"content-length", b"transfer-encoding")
_END = b"\r\n\r\n"


class ReadLimits(msgspec.Struct, frozen=True):
    """Bounds on what is read before a request is served, in bytes but for `lines`."""

    url: int
    header: int
    lines: int


_SHOWN = 4096
"""How much of a refused request is kept, to tell by it how its client understands errors."""


class RequestHead(msgspec.Struct, frozen=True, gc=False):
    """A request's line and headers, which were found to be in order."""

    method: str
    target: bytes
    path: bytes
    query: bytes
    headers: Headers
    """Their names are in lower case."""
    first: dict[bytes, bytes]
    """The headers by name; the first of equal names counts."""
    raw: bytes
    """The request line and the headers as they came."""
    http_1_0: bool
    keep_alive: bool
    length: int
    """The announced length of the body; 0 if none was announced."""
    chunked: bool
    offers_websocket: bool
    """Whether the request is a WebSocket's handshake. All other offers of a protocol are declined by
    answering the request: RFC 9110, section 7.8.
    """
    expects_continue: bool
    """Whether the client waits for an answer 100 before it sends the body."""


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
        *("_at", "_data", "_keep_alive", "_left", "_line_ended", "_searched", "_state"),
        *("error", "limits", "refused", "waiting"),
    )

    def __init__(self, limits: ReadLimits) -> None:
        self.limits = limits
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
            self.error = error
            self.refused = bytes(memoryview(self._data)[self._at : self._at + _SHOWN])
            self.rest()
        self.waiting = len(self._data) - self._at
        return events

    def wait(self, data: bytes) -> None:
        """Take bytes, and read nothing yet."""
        if self._state is not _State.OVER:
            self._feed(data)
            self.waiting = len(self._data) - self._at

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
        return rest

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
        end = data.find(_END, max(self._at, self._searched))
        if end < 0:
            self._check_beginning()
            return None
        raw = bytes(data[self._at : end + 2])
        head = parse_head(raw, self.limits)
        self._advance(end + 4)
        self._searched, self._line_ended = 0, False
        self._keep_alive, self._left = head.keep_alive, head.length
        self._state = _State.CHUNKS if head.chunked else _State.BODY
        return head

    def _check_beginning(self) -> None:
        """Check what is there of a head: it may be endless, or never become one."""
        data, limits, size = self._data, self.limits, self._size()
        if not self._line_ended and size > limits.url + _LONGEST_LINE_REST:
            if data.find(b"\r\n", self._at, self._at + limits.url + _LONGEST_LINE_REST) < 0:
                raise _make_url_error(limits)
            self._line_ended = True
        if size > limits.url + _LONGEST_LINE_REST + limits.header:
            raise _make_headers_error(limits)
        if size and data[self._at] not in _BEGIN:
            raise _make_syntax_error("it doesn't begin with a method")
        if _BARE_LINE_FEED.search(data, max(self._at, self._searched)):
            raise _make_syntax_error("it has a line feed without a carriage return")
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
                raise _make_syntax_error("a chunk is longer than it says")
            self._advance(self._at + 2)
            self._state = _State.CHUNKS
        end = self._data.find(b"\r\n", self._at, self._at + _LONGEST_CHUNK_LINE)
        if end < 0:
            if self._size() >= _LONGEST_CHUNK_LINE:
                raise _make_syntax_error("a chunk's first line is too long")
            if _BARE_LINE_FEED.search(self._data, self._at):
                raise _make_syntax_error("a chunk's first line can't be read")
            return False
        found = _CHUNK_LINE.fullmatch(self._data, self._at, end)
        if found is None:
            raise _make_syntax_error("a chunk's first line can't be read")
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
        end = self._data.find(_END, max(self._at, self._searched))
        if (self._size() if end < 0 else end - self._at) > self.limits.header:
            raise _make_headers_error(self.limits)
        if end < 0:
            if _BARE_LINE_FEED.search(self._data, max(self._at, self._searched)):
                raise _make_syntax_error(
                    "a line behind its last chunk has a line feed without a carriage return"
                )
            self._searched = max(len(self._data) - 3, self._at)
            return None
        _check_fields(bytes(self._data[self._at : end + 2]), self.limits)
        self._searched = 0
        self._advance(end + 4)
        return self._end_message()


def parse_head(raw: bytes, limits: ReadLimits) -> RequestHead:
    """Read a head: the request line and the headers, without the empty line. ServiceError if it can't be."""
    line = _REQUEST_LINE.match(raw)
    if line is None:
        raise _make_syntax_error("its first line isn't `METHOD TARGET HTTP/1.1`")
    method, target, major, minor = line.groups()
    if (major, minor) not in ((b"1", b"1"), (b"1", b"0")):
        raise ServiceError(
            505, "the request isn't in HTTP/1.1 or HTTP/1.0; send it so", code="http_version_not_supported"
        )
    if len(target) > limits.url:
        raise _make_url_error(limits)
    block = raw[line.end() :]
    _check_fields(block, limits)
    headers: Headers = []
    for one in block.split(b"\r\n")[:-1]:
        name, _, value = one.partition(b":")
        headers.append((name.lower(), value.strip(b" \t")))
    first = dict(reversed(headers))
    if len(first) < len(headers):
        _check_repeated(headers)
    old = minor == b"0"
    length, chunked = _read_framing(first, old)
    if not old and b"host" not in first:
        raise _make_syntax_error("it has no `Host`")
    path, _, query = _find_path(method, target).partition(b"?")
    usual = first.get(b"connection", b"keep-alive") == b"keep-alive" and len(first) == len(headers)
    keep_alive = not old and (usual or b"close" not in _tokens(headers))
    websocket = (
        first.get(b"upgrade", b"").lower() == b"websocket"
        and b"upgrade" in _tokens(headers)
        and method == b"GET"
        and not (old or length or chunked)
    )
    waits = not old and first.get(b"expect", b"").lower() == b"100-continue"
    return RequestHead(
        *(method.decode("ascii"), target, path, query, headers, first, raw),
        *(old, keep_alive, length, chunked, websocket, waits),
    )


def _find_path(method: bytes, target: bytes) -> bytes:
    """The path and the query of a target in origin form, or in absolute form without its host."""
    if not target.startswith(b"/"):
        where = _ABSOLUTE.fullmatch(target)
        if where is None:
            raise _make_syntax_error("its target is no path")
        target = b"/" + target[where.end(1) :].removeprefix(b"/")
    if b"#" in target or method == b"CONNECT":
        raise _make_syntax_error("its target is no path")
    return target


def _check_fields(block: bytes, limits: ReadLimits) -> None:
    """Raise ServiceError unless the lines are header fields, few and small enough."""
    if len(block) > limits.header or block.count(b"\n") > limits.lines:
        raise _make_headers_error(limits)
    if _FIELDS.fullmatch(block) is None:
        raise _make_syntax_error("one of its header lines isn't `Name: value`, or has a control character")


def _check_repeated(headers: Headers) -> None:
    names = [name for name, _ in headers]
    for name in _ONLY_ONCE:
        if names.count(name) > 1:
            raise _make_syntax_error(f"it has more than one `{name.decode().title()}`")


def _read_framing(first: dict[bytes, bytes], old: bool) -> tuple[int, bool]:
    """The length of the body, and whether it comes in chunks."""
    coding, length = first.get(b"transfer-encoding"), first.get(b"content-length")
    if coding is not None:
        if old or length is not None or coding.lower() != b"chunked":
            raise _make_syntax_error(
                "`Transfer-Encoding` isn't `chunked` alone, without `Content-Length`, in HTTP/1.1"
            )
        return 0, True
    if length is None:
        return 0, False
    if _LENGTH.fullmatch(length) is None:
        raise _make_syntax_error("its `Content-Length` is no number")
    return int(length), False


def _tokens(headers: Headers) -> set[bytes]:
    """The tokens of `Connection`, in lower case."""
    values = [value for name, value in headers if name == b"connection"]
    return {token.strip(b" \t").lower() for value in values for token in value.split(b",")}


def _make_syntax_error(why: str) -> ServiceError:
    return ServiceError(400, f"the request can't be read: {why}", code="malformed_request")


def _make_url_error(limits: ReadLimits) -> ServiceError:
    return ServiceError(
        414,
        f"the URL is longer than {limits.url} bytes; shorten it, or raise limits.url",
        code="url_too_long",
    )


def _make_headers_error(limits: ReadLimits) -> ServiceError:
    return ServiceError(
        431,
        f"the request's headers are more than {limits.lines} lines or {limits.header} bytes; "
        "send fewer, or raise limits.header_lines or limits.header",
        code="headers_too_large",
    )
