"""Recognise the head of a response by an earlier one of the same server: a server's heads are much alike, but
for the values of some headers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from crosswind.gateway.http.headers import CONTROL, Headers, WrittenHeaders, drop_hop_by_hop

_OWN = re.compile(
    rb"(?i)(\r\n(?:content-length|date|set-cookie|(?:x-)?request-id|cf-ray|openai-processing-ms|server-timing"
    rb"|x-envoy-upstream-service-time|(?:x|anthropic)-ratelimit-[a-z-]+):)([^\r\n]*)"
)
"""Lines whose values differ from one response to the next."""
_FIRST_LINE = b"HTTP/1.1 200 "
_END = b"\r\n\r\n"
_LONGEST_LENGTH = 18
_MOST = 256
_STRANGERS = 64
"""After so many in a row, only one in as many is remembered."""
_LARGEST = 4096


class ResponseTemplate(msgspec.Struct, eq=False):
    """What heads that are alike have in common. All are of status 200, say where the body ends, and keep the
    connection open.
    """

    headers: Headers
    """Their names are in any case. Those of `own` have the values of the first such response."""
    own: tuple[int, ...]
    """Where `headers` differ."""
    length_at: int
    """Which of the values is the length of the body; -1: the body comes in chunks."""
    streams: bool
    """The body is a stream of events."""
    encoding: str
    strangers: int = 0
    """How many responses in a row weren't like the one before on their connection, but for the length."""
    formats: dict[bool, tuple[bytes, tuple[int, ...]]] = {}
    """For an answer that is relayed as it is, and for one that is edited: the lines to write, and which of
    the values belong into them.
    """


class KnownHead(msgspec.Struct, frozen=True, gc=False):
    """A head that was recognised."""

    template: ResponseTemplate
    values: Sequence[bytes]
    """What its template leaves open."""
    length: int
    """The announced length of the body; -1: it comes in chunks."""
    size: int
    """The bytes of the head, with the empty line."""
    like: LikeResponse | None = None
    """The same response with other lengths."""

    @property
    def headers(self) -> Headers:
        headers = self.template.headers.copy()
        for at, value in zip(self.template.own, self.values, strict=True):
            headers[at] = headers[at][0], value.strip(b" \t")
        return headers

    def write(self, *, edited: bool) -> WrittenHeaders:
        """The answer's head for the client, without the length of the body; if it is `edited`, without its
        encoding.
        """
        if self.like is not None and (written := self.like.written.get(edited)) is not None:
            return written
        template = self.template
        known = template.formats.get(edited)
        if known is None:
            known = template.formats[edited] = _make_format(template, edited=edited)
        lines, used = known
        written = WrittenHeaders(lines % tuple([self.values[at].strip(b" \t") for at in used]), None)
        if self.like is not None:
            self.like.written[edited] = written
        return written


class LikeResponse(msgspec.Struct, eq=False):
    """What the next head on a connection mostly is within a second: the one before with another length."""

    template: ResponseTemplate
    values: list[bytes]
    before: bytes
    """The head up to the length of the body."""
    behind: bytes
    """The rest of it, with the empty line."""
    written: dict[bool, WrittenHeaders] = {}
    """What clients get of such a head, as it is and edited. The length isn't in it."""

    @classmethod
    def of(cls, known: KnownHead, data: bytes) -> LikeResponse | None:
        """None where the length stands in the head more than once, or with spaces behind it, and where each
        response has a value of its own, as an id.
        """
        template, end = known.template, known.size
        template.strangers += 1
        if template.strangers > _STRANGERS and template.strangers % _STRANGERS:
            return None
        if template.length_at < 0:
            return cls(template, [*known.values], data[:end], b"")
        line = b":" + known.values[template.length_at] + b"\r\n"
        at = data.find(line, 0, end) + len(line) - 2
        if data.count(line, 0, end) != 1 or not data[at - 1 : at].isdigit():
            return None
        digits = len(known.values[template.length_at].lstrip(b" \t"))
        return cls(template, [*known.values], data[: at - digits], data[at:end])

    def recognise(self, data: bytes) -> KnownHead | None:
        """As the function `recognise`. None also for a head that isn't like the one before."""
        before, behind = self.before, self.behind
        if not data.startswith(before):
            return None
        self.template.strangers = 0
        if not behind:
            return KnownHead(self.template, self.values, -1, len(before), self)
        at = len(before)
        end = data.find(b"\r", at, at + _LONGEST_LENGTH + 1)
        length = data[at:end]
        if end < 0 or not length.isdigit() or not data.startswith(behind, end):
            return None
        values = self.values.copy()
        values[self.template.length_at] = length
        return KnownHead(self.template, values, int(length), end + len(behind), self)


_templates: dict[tuple[bytes, ...], ResponseTemplate] = {}


def recognise(data: bytes) -> KnownHead | None:
    """The head that these bytes begin with, if one like it was learned."""
    end = data.find(_END)
    if end < 0 or end > _LARGEST:
        return None
    parts = _OWN.split(data[: end + 2])
    values = parts[2::3]
    del parts[2::3]
    template = _templates.get(tuple(parts))
    if template is None or CONTROL.search(b"".join(values)) is not None:
        return None
    if template.length_at < 0:
        return KnownHead(template, values, -1, end + 4)
    length = values[template.length_at].strip(b" \t")
    if not length.isdigit() or len(length) > _LONGEST_LENGTH:
        return None
    return KnownHead(template, values, int(length), end + 4)


def learn(data: bytes, headers: Headers) -> None:
    """Learn the head that these bytes begin with, which the parser read so. It keeps the connection open."""
    end = data.find(_END)
    if not data.startswith(_FIRST_LINE) or not 0 < end <= _LARGEST:
        return
    raw = data[: end + 2]
    fields = [line.partition(b":") for line in raw.split(b"\r\n")[1:-1]]
    if [(name, value.strip(b" \t")) for name, _, value in fields] != headers:
        return
    names = [name.lower() for name, _ in headers]
    codings = [value.lower() for name, value in headers if name.lower() == b"transfer-encoding"]
    if (names.count(b"content-length"), codings) not in ((1, []), (0, [b"chunked"])):
        return
    own = tuple(at for at, name in enumerate(names) if _OWN.match(b"\r\n%b:" % name))
    streams, encoding = describe_body(headers)
    parts = _OWN.split(raw)
    del parts[2::3]
    if len(_templates) >= _MOST:
        del _templates[next(iter(_templates))]
    length_at = -1 if codings else own.index(names.index(b"content-length"))
    _templates[tuple(parts)] = ResponseTemplate(headers, own, length_at, streams, encoding)


def describe_body(headers: Headers) -> tuple[bool, str]:
    """Whether a body is a stream of events, and its encoding, or an empty string."""
    first = {name.lower(): value for name, value in reversed(headers)}
    streams = first.get(b"content-type", b"").lower().startswith(b"text/event-stream")
    encodings = [value for name, value in headers if name.lower() == b"content-encoding"]
    return streams, b",".join(encodings).decode("latin-1")


def _make_format(template: ResponseTemplate, *, edited: bool) -> tuple[bytes, tuple[int, ...]]:
    """RuntimeError for a header that can't be sent."""
    left_out = {b"content-length", *([b"content-encoding"] if edited else [])}
    sent = {name.lower() for name, _ in drop_hop_by_hop(template.headers)} - left_out
    fields, used = [], []
    for at, (name, value) in enumerate(template.headers):
        if name.lower() in sent and at in template.own:
            used.append(template.own.index(at))
            fields.append((name, b"%b"))
        elif name.lower() in sent:
            fields.append((name.replace(b"%", b"%%"), value.replace(b"%", b"%%")))
    return WrittenHeaders.write(200, fields).lines, tuple(used)
