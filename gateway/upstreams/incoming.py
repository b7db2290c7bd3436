"""An answer as it comes over the wire: its head and its body's bytes, by httptools."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod

import httptools

from crosswind.gateway.http.headers import Headers

_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")


class ConnectionBroken(Exception):
    """The connection ended before its answer did, or what came on it is no HTTP."""


class ResponseParser(ABC):
    """What has come of one answer after another. `limit`: bytes of an answer's head."""

    def __init__(self, limit: int) -> None:
        self.status = 0
        self.headers: Headers = []
        self.began = False
        """Something of the answer has come."""
        self.head = False
        """The answer's head has come."""
        self.ended = True
        """The answer has come whole, or none is awaited."""
        self.keeps = False
        """The server lets another request follow."""
        self.until_close = False
        """Nothing says how long the body is: the end of the connection is the answer's."""
        self.parts: list[bytes] = []
        """What of the body wasn't taken yet."""
        self.failure: BaseException | None = None
        """Why the answer can't come whole."""
        self._limit = limit
        self._head_only = False
        self._interim = False
        self._head_bytes = 0
        self._whole: int | None = None
        """How many parts the answer has, where its end has come."""
        self.on_body = self.parts.append
        """The parser's callback: an event of a stream is a part, mostly, and one of ours each costs more."""
        self._parser = self._new_parser()

    def _new_parser(self) -> httptools.HttpResponseParser:
        parser = httptools.HttpResponseParser(self)
        # What many servers send, and other clients bear.
        parser.set_dangerous_leniencies(
            lenient_headers=True, lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
        )
        return parser

    @abstractmethod
    def failed(self, error: BaseException) -> None:
        """The answer can't come whole."""

    def expect(self, *, head_only: bool) -> None:
        """An answer is awaited; with `head_only` it has no body, whatever its head says."""
        self.began = self.head = self.ended = False
        self._head_only = head_only
        self._head_bytes = 0
        self._whole = None
        self.headers = []

    def feed(self, data: bytes) -> None:
        """Take what has come."""
        self.began = True
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self.keeps = False
            if not self.ended:
                self.failed(ConnectionBroken(f"it sent no HTTP ({error})"))
        if self._whole is not None and len(self.parts) > self._whole:
            # It belongs to no answer.
            self.keeps = False
            del self.parts[self._whole :]
        if not self.head:
            self._head_bytes += len(data)
            self._measure(self._head_bytes)

    def _measure(self, size: int) -> None:
        if size > self._limit and self.failure is None:
            self.failed(ConnectionBroken(f"its answer's head is larger than {self._limit} bytes (limits.header)"))

    # httptools' callbacks

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.head or self.ended:
            return  # a trailer, or what belongs to no answer
        if _CONTROL.search(value) is not None:
            self.failed(ConnectionBroken("a header of its answer has a control character in it"))
        self.headers.append((name, value.strip(b" \t")))

    def on_headers_complete(self) -> None:
        if self.ended or self.failure is not None:
            return
        self.status = self._parser.get_status_code()
        if 100 <= self.status < 200 and self.status != 101:
            self._interim = True
            self.headers.clear()
            return
        self._measure(sum([len(name) + len(value) for name, value in self.headers]))
        if self.failure is not None:
            return
        self.keeps = self._parser.should_keep_alive()
        self.until_close = not self.keeps and not _has_delimited_body(self.headers)
        self.head = True
        if self._head_only:
            self.ended, self._whole = True, 0
            # A parser that was told of a body awaits it.
            self._parser = self._new_parser()

    def on_message_complete(self) -> None:
        if self._interim:
            self._interim = False
        elif self.head and not self.ended:
            self.ended, self._whole = True, len(self.parts)

    def on_message_begin(self) -> None:
        if self.ended:
            self.keeps = False


def _has_delimited_body(headers: Headers) -> bool:
    """Whether an answer's head says where its body ends."""
    for name, value in headers:
        match name.lower():
            case b"content-length":
                return True
            case b"transfer-encoding":
                return value.lower().endswith(b"chunked")
            case _:
                continue
    return False
