"""Read the head of a request: its line and its headers. A client's heads are much alike, so that one is
parsed and its likes are recognised, by all but the values of the headers that end here.

The grammar is h11's without what h11 forgives. A regular expression over a whole head costs more than
a parser in C, and tells all that a proxy must not pass on: bare line feeds, folded lines, control characters,
two lengths, a length beside chunks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from crosswind.gateway.errors import ServiceError
from crosswind.gateway.http.headers import Headers

_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
TEXT = rb"[\t\x20-\x7e\x80-\xff]*"
# Methods in capitals: whatever an upstream takes `post` for, it would pass the gateway by as another method.
_REQUEST_LINE = re.compile(rb"([A-Z][A-Z-]*) ([\x21-\x7e]+) HTTP/(\d)\.(\d)\r\n")
_FIELDS = re.compile(rb"(?:%b+:%b+\r\n)*+" % (_TOKEN, TEXT))
_VALUES = re.compile(TEXT)
_OWN = re.compile(rb"(?i)(\r\n(?:content-length|x-crosswind-(?:session|task|group|seed)):)([^\r\n]*)")
"""Lines whose values end here, and differ from one request of a client to its next."""
_NEW_EACH_TIME = (
    *(b"traceparent", b"sentry-trace", b"x-amzn-trace-id", b"idempotency-key"),
    *(b"x-request-id", b"x-client-request-id", b"x-correlation-id"),
)
"""Headers by which no head is like another."""
_LENGTH = re.compile(rb"(?i)\r\ncontent-length: ?([0-9]{1,18})(?=\r\n)")
_ABSOLUTE = re.compile(rb"([Hh][Tt][Tt][Pp][Ss]?://[^/?#]+)(?:[/?].*)?")
END_OF_HEAD = b"\r\n\r\n"
_LONGEST_LENGTH = 18
_ONLY_ONCE = (b"host", b"content-length", b"transfer-encoding")
_MOST_TEMPLATES = 256
_LARGEST_TEMPLATE = 4096


class ReadLimits(msgspec.Struct, frozen=True):
    """Bounds on what is read before a request is served, in bytes but for `lines`."""

    url: int
    header: int
    lines: int


class HeadTemplate(msgspec.Struct, eq=False):
    """What heads that are alike have in common."""

    method: str
    target: bytes
    path: bytes
    query: bytes
    line_size: int
    headers: Headers
    """Their names are in lower case. Those of `own` have the values of the first such request."""
    first: dict[bytes, bytes]
    """The headers by name, without those of `own`; the first of equal names counts."""
    own: tuple[tuple[int, bytes], ...]
    """Where `headers` differ, and their names; the last is first."""
    own_names: tuple[bytes, ...]
    encoded: bool
    """The body has a `Content-Encoding`."""
    http_1_0: bool
    keep_alive: bool
    chunked: bool
    offers_websocket: bool
    """Whether it is a WebSocket's handshake, if no body follows. All other offers of a protocol are declined
    by answering the request: RFC 9110, section 7.8.
    """
    expects_continue: bool
    """Whether the client waits for an answer 100 before it sends the body."""
    entry: Any = None
    """What the server found out about such requests."""


class LikeHeads(msgspec.Struct, eq=False):
    """What an agent's next head on its connection mostly is: the one before with another `Content-Length`."""

    before: bytes
    """The head up to the length."""
    behind: bytes
    """The rest of it, with the empty line."""
    template: HeadTemplate
    own: dict[bytes, bytes]
    notes: Any = None
    """What the server found out about such requests."""

    @classmethod
    def of(cls, template: HeadTemplate, own: dict[bytes, bytes], raw: bytes) -> LikeHeads | None:
        """None where the next head may have to be looked at as a whole."""
        found = _LENGTH.search(raw)
        if found is None or template.chunked or not template.keep_alive:
            return None
        return cls(raw[: found.start(1)], raw[found.end(1) :] + b"\r\n", template, own)

    def read(self, data: bytes) -> tuple[RequestHead, bytes] | None:
        """As `HeadReader.read_request`. None also for a head that isn't like the one before."""
        before, behind = self.before, self.behind
        if not data.startswith(before):
            return None
        at = len(before)
        end = data.find(b"\r", at, at + _LONGEST_LENGTH + 1)
        length = data[at:end]
        if end < 0 or not length.isdigit() or not data.startswith(behind, end):
            return None
        size = end + len(behind)
        if len(data) - size != int(length):
            return None
        own = {**self.own, b"content-length": length}
        return RequestHead(self.template, own, int(length), data[: size - 2], self), data[size:]


class RequestHead(msgspec.Struct, frozen=True, gc=False):
    """A request's line and headers, which were found to be in order."""

    template: HeadTemplate
    own: Mapping[bytes, bytes]
    """The values that its template leaves open, by name, with the spaces around them; the first of equal
    names counts.
    """
    length: int
    """The announced length of the body; 0 if none was announced."""
    raw: bytes
    """The request line and the headers as they came."""
    like: LikeHeads | None = None
    """What the next head may be like, if that was seen."""

    @property
    def headers(self) -> Headers:
        """Their names are in lower case."""
        template = self.template
        if not template.own:
            return template.headers
        headers = template.headers.copy()
        for (at, name), value in zip(reversed(template.own), _OWN.split(self.raw)[2::3], strict=True):
            headers[at] = name, value.strip(b" \t")
        return headers

    @property
    def first(self) -> dict[bytes, bytes]:
        """The headers by name; the first of equal names counts."""
        return self.template.first | {name: value.strip(b" \t") for name, value in self.own.items()}

    @property
    def offers_websocket(self) -> bool:
        return self.template.offers_websocket and not self.length


class HeadReader:
    """Reads heads, and keeps templates of those that were read."""

    def __init__(self, limits: ReadLimits) -> None:
        self.limits = limits
        self._largest_like = min(limits.header - _LONGEST_LENGTH, _LARGEST_TEMPLATE)
        self._templates: dict[tuple[bytes, ...], HeadTemplate] = {}

    def read(self, raw: bytes) -> RequestHead:
        """Read a head: the request line and the headers, without the empty line. ServiceError if not."""
        parts = _OWN.split(raw)
        values = parts[2::3]
        del parts[2::3]
        template = self._templates.get(key := tuple(parts))
        if template is None:
            template = parse_head(raw, self.limits)
            if len(raw) <= _LARGEST_TEMPLATE and template.first.keys().isdisjoint(_NEW_EACH_TIME):
                if len(self._templates) >= _MOST_TEMPLATES:
                    del self._templates[next(iter(self._templates))]
                self._templates[key] = template
        elif len(raw) - template.line_size > self.limits.header:
            raise make_headers_error(self.limits)
        elif _VALUES.fullmatch(b"".join(values)) is None:
            raise _make_field_error()
        values.reverse()
        own = dict(zip(template.own_names, values, strict=True))
        length = own.get(b"content-length")
        known = key in self._templates and len(raw) <= self._largest_like
        return RequestHead(
            template,
            own,
            0 if length is None else _read_length(length.strip(b" \t")),
            raw,
            LikeHeads.of(template, own, raw) if known else None,
        )

    def read_request(self, data: bytes) -> tuple[RequestHead, bytes] | None:
        """The head and the body of the request that these bytes are; None unless they are just one, which
        keeps the connection open.
        """
        end = data.find(END_OF_HEAD)
        if end < 0:
            return None
        try:
            head = self.read(data[: end + 2])
        except ServiceError:
            return None  # who reads it otherwise says why
        template = head.template
        if template.chunked or not template.keep_alive or head.length != len(data) - end - 4:
            return None
        return head, data[end + 4 :]


def parse_head(raw: bytes, limits: ReadLimits) -> HeadTemplate:
    """Parse a head: the request line and the headers, without the empty line. ServiceError if it can't be."""
    line = _REQUEST_LINE.match(raw)
    if line is None:
        raise make_syntax_error("its first line isn't `METHOD TARGET HTTP/1.1`")
    method, target, major, minor = line.groups()
    if (major, minor) not in ((b"1", b"1"), (b"1", b"0")):
        raise ServiceError(
            505, "the request isn't in HTTP/1.1 or HTTP/1.0; send it so", code="http_version_not_supported"
        )
    if len(target) > limits.url:
        raise make_url_error(limits)
    block = raw[line.end() :]
    check_fields(block, limits)
    headers: Headers = []
    for one in block.split(b"\r\n")[:-1]:
        name, _, value = one.partition(b":")
        headers.append((name.lower(), value.strip(b" \t")))
    first = dict(reversed(headers))
    if len(first) < len(headers):
        _check_repeated(headers)
    old = minor == b"0"
    chunked = _is_chunked(first, old)
    if not old and b"host" not in first:
        raise make_syntax_error("it has no `Host`")
    path, _, query = _find_path(method, target).partition(b"?")
    tokens = _tokens(headers)
    websocket = (
        first.get(b"upgrade", b"").lower() == b"websocket"
        and b"upgrade" in tokens
        and method == b"GET"
        and not (old or chunked)
    )
    own = tuple((at, name) for at, (name, _) in enumerate(headers) if _OWN.match(b"\r\n%b:" % name))[::-1]
    for _, name in own:
        first.pop(name, None)
    return HeadTemplate(
        *(method.decode("ascii"), target, path, query, line.end(), headers, first, own),
        own_names=tuple(name for _, name in own),
        encoded=b"content-encoding" in first,
        http_1_0=old,
        keep_alive=not old and b"close" not in tokens,
        chunked=chunked,
        offers_websocket=websocket,
        expects_continue=not old and first.get(b"expect", b"").lower() == b"100-continue",
    )


def _find_path(method: bytes, target: bytes) -> bytes:
    """The path and the query of a target in origin form, or in absolute form without its host."""
    if not target.startswith(b"/"):
        where = _ABSOLUTE.fullmatch(target)
        if where is None:
            raise make_syntax_error("its target is no path")
        target = b"/" + target[where.end(1) :].removeprefix(b"/")
    if b"#" in target or method == b"CONNECT":
        raise make_syntax_error("its target is no path")
    return target


def check_fields(block: bytes, limits: ReadLimits) -> None:
    """Raise ServiceError unless the lines are header fields, few and small enough."""
    if len(block) > limits.header or block.count(b"\n") > limits.lines:
        raise make_headers_error(limits)
    if _FIELDS.fullmatch(block) is None:
        raise _make_field_error()


def _check_repeated(headers: Headers) -> None:
    names = [name for name, _ in headers]
    for name in _ONLY_ONCE:
        if names.count(name) > 1:
            raise make_syntax_error(f"it has more than one `{name.decode().title()}`")


def _is_chunked(first: dict[bytes, bytes], old: bool) -> bool:
    """Whether the body comes in chunks."""
    coding = first.get(b"transfer-encoding")
    if coding is None:
        return False
    if old or b"content-length" in first or coding.lower() != b"chunked":
        raise make_syntax_error(
            "`Transfer-Encoding` isn't `chunked` alone, without `Content-Length`, in HTTP/1.1"
        )
    return True


def _read_length(value: bytes) -> int:
    """The length of the body."""
    if not value.isdigit() or len(value) > _LONGEST_LENGTH:
        raise make_syntax_error("its `Content-Length` is no number")
    return int(value)


def _tokens(headers: Headers) -> set[bytes]:
    """The tokens of `Connection`, in lower case."""
    values = [value for name, value in headers if name == b"connection"]
    return {token.strip(b" \t").lower() for value in values for token in value.split(b",")}


def make_syntax_error(why: str) -> ServiceError:
    return ServiceError(400, f"the request can't be read: {why}", code="malformed_request")


def _make_field_error() -> ServiceError:
    return make_syntax_error("one of its header lines isn't `Name: value`, or has a control character")


def make_url_error(limits: ReadLimits) -> ServiceError:
    return ServiceError(
        414,
        f"the URL is longer than {limits.url} bytes; shorten it, or raise limits.url",
        code="url_too_long",
    )


def make_headers_error(limits: ReadLimits) -> ServiceError:
    return ServiceError(
        431,
        f"the request's headers are more than {limits.lines} lines or {limits.header} bytes; "
        "send fewer, or raise limits.header_lines or limits.header",
        code="headers_too_large",
    )
