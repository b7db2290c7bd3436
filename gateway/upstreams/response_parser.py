"""Parse responses: with httptools, but for heads that were seen before and bodies of a known length."""

from __future__ import annotations

from abc import ABC, abstractmethod

import httptools

from crosswind.gateway.http.headers import CONTROL, Headers
from crosswind.gateway.upstreams.response_head import KnownHead, LikeResponse, learn, recognise

_CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
"""Stands for the head of a known response whose body comes in chunks."""


class ConnectionBroken(Exception):
    """The connection ended before the response did, or the bytes on it are not HTTP."""


class ResponseParser(ABC):
    """The state of the response on a connection. `limit`: the largest head, in bytes."""

    __slots__ = (
        *(
            "_head_bytes",
            "_head_only",
            "_interim",
            "_left",
            "_like",
            "_limit",
            "_parser",
            "_part_count",
            "began",
        ),
        *("ended", "failure", "head", "headers", "keeps", "known", "on_body", "parts", "status"),
        "until_close",
    )

    def __init__(self, limit: int) -> None:
        self.status = 0
        self.headers: Headers = []
        """Empty, where the head is a `known` one."""
        self.known: KnownHead | None = None
        self.began = False
        """Some bytes of the response have arrived."""
        self.head = False
        """The head of the response has arrived."""
        self.ended = True
        """The response is complete, or none is expected."""
        self.keeps = False
        """The server keeps the connection open for another request."""
        self.until_close = False
        """The head gives no length: the body ends with the connection."""
        self.parts: list[bytes] = []
        """Bytes of the body that were not taken yet."""
        self.failure: BaseException | None = None
        """Why the response can't be completed."""
        self._limit = limit
        self._head_only = False
        self._interim = False
        self._head_bytes = 0
        self._left = -1
        """Bytes to come of a body of known length; -1: the parser knows."""
        self._like: LikeResponse | None = None
        self._part_count: int | None = None
        """The number of parts in the body, once it is complete."""
        self.on_body = self.parts.append
        """The parser's callback. A method of ours per part would cost more, and a stream has many parts."""
        self._parser = self._new_parser()

    def _new_parser(self) -> httptools.HttpResponseParser:
        parser = httptools.HttpResponseParser(self)
        # Many servers send these, and other clients accept them.
        parser.set_dangerous_leniencies(
            lenient_headers=True, lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
        )
        return parser

    @abstractmethod
    def fail(self, error: BaseException) -> None:
        """Record that the response can't be completed."""

    def expect(self, *, head_only: bool) -> None:
        """Expect a response; with `head_only` it has no body, whatever its head says."""
        self.began = self.head = self.ended = False
        self._head_only = head_only
        self._head_bytes = 0
        self._left = -1
        self._part_count = self.known = None
        self.headers = []

    def feed(self, data: bytes) -> None:
        """Take bytes as they arrived."""
        if not self.began:
            self.began = True
            known = None if self._head_only else self._recognise(data)
            if known is None or known.size > self._limit:
                return self._parse_first(data)
            template = known.template
            self.known, self.status, self.head = known, 200, True
            self.keeps, self.until_close, self._left = True, False, known.length
            if template.length_at < 0:
                self._parser.feed_data(_CHUNKED)
            data = data[known.size :]
        if self._left >= 0:
            self._left -= len(data)
            if self._left < 0:
                # Bytes after the end belong to no response.
                self.keeps, data, self._left = False, data[: self._left], 0
            if data:
                self.parts.append(data)
            self.ended = self._left == 0
        elif data:
            self._parse(data)

    def _recognise(self, data: bytes) -> KnownHead | None:
        """The head that these bytes begin with, if it is like the one before, or another that was learned."""
        like = self._like
        known = None if like is None else like.recognise(data)
        if known is None and (known := recognise(data)) is not None:
            self._like = LikeResponse.of(known, data)
        return known

    def _parse_first(self, data: bytes) -> None:
        """Parse the beginning of a response, and learn its head if it is here. One response that ends its
        connection says nothing about the next ones.
        """
        self._parse(data)
        if self.head and self.keeps and not self._head_only and self.failure is None:
            learn(data, self.headers)

    def _parse(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self.keeps = False
            if not self.ended:
                self.fail(ConnectionBroken(f"it sent invalid HTTP ({error})"))
        if self._part_count is not None and len(self.parts) > self._part_count:
            # Parts after the end belong to no response.
            self.keeps = False
            del self.parts[self._part_count :]
        if not self.head:
            self._head_bytes += len(data)
            self._check_head_size(self._head_bytes)

    def _check_head_size(self, size: int) -> None:
        if size > self._limit and self.failure is None:
            self.fail(
                ConnectionBroken(f"its answer's head is larger than {self._limit} bytes (limits.header)")
            )

    # httptools' callbacks

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.head or self.ended:
            return  # a trailer, or a header of no response
        self.headers.append((name, value.strip(b" \t")))

    def on_headers_complete(self) -> None:
        if self.head or self.ended or self.failure is not None:
            return  # it is known, or of no response
        values = b"".join([value for _, value in self.headers])
        if CONTROL.search(values) is not None:
            return self.fail(ConnectionBroken("a header of its answer contains a control character"))
        self.status = self._parser.get_status_code()
        if 100 <= self.status < 200 and self.status != 101:
            self._interim = True
            self.headers.clear()
            return
        self._check_head_size(len(values) + len(b"".join([name for name, _ in self.headers])))
        if self.failure is not None:
            return
        self.keeps = self._parser.should_keep_alive()
        self.until_close = not self.keeps and not _has_delimited_body(self.headers)
        self.head = True
        if self._head_only:
            self.ended, self._part_count = True, 0
            # This parser waits for the body that the head announced.
            self._parser = self._new_parser()

    def on_message_complete(self) -> None:
        if self._interim:
            self._interim = False
            self.parts.clear()  # some servers send a body where there is none
        elif self.head and not self.ended:
            self.ended, self._part_count = True, len(self.parts)

    def on_message_begin(self) -> None:
        if self.ended:
            self.keeps = False


def _has_delimited_body(headers: Headers) -> bool:
    """Whether the head says where the body ends."""
    for name, value in headers:
        match name.lower():
            case b"content-length":
                return True
            case b"transfer-encoding":
                return value.lower().endswith(b"chunked")
            case _:
                continue
    return False
