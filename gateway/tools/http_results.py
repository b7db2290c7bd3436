"""A tool's result in an HTTP answer, and the answer to a call that fails: bodies without their encoding.

Only what changes is rewritten.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from crosswind.gateway.tools.failures import ASKS_TO_WAIT, Failure
from crosswind.gateway.tools.output_schema import is_valid
from crosswind.gateway.tools.rules import split_pointer
from crosswind.injectors.text.json_payload import NOT_JSON, parse_json

LARGEST_RESULT = 1 << 20
"""Bytes of the largest body that noise looks at."""
INVALID = "the answer would not be valid by the API's description"
NOT_A_VALUE = "the answer's other members would be left around something that isn't JSON"

_READABLE = re.compile(r"text/(?!event-stream)|application/([^;]*\+)?(json|xml|yaml)\b", re.IGNORECASE)
_CHARSET = re.compile(r"charset=\"?([\w.:-]+)", re.IGNORECASE)
_read_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_read_items = msgspec.json.Decoder(list[msgspec.Raw]).decode
_read = msgspec.json.Decoder().decode
_write = msgspec.json.Encoder().encode


def is_readable(content_type: str) -> bool:
    """Whether noise looks at a body of this type. Other answers need not be held."""
    return _READABLE.match(content_type.strip()) is not None


@dataclass(slots=True)
class HttpResult:
    """The body of an answer, as noise sees it."""

    texts: tuple[str, ...]
    """One text: the whole body, or what the pointer names."""
    schema: Any = None
    """The JSON schema of the body, if the API's description has one."""
    _path: tuple[str, ...] = ()
    _body: bytes = b""
    _charset: str = "utf-8"
    _is_string: bool = False

    @staticmethod
    def read(content_type: str, body: bytes, result_at: str = "", schema: Any = None) -> HttpResult | None:
        """The result; None where there is no text that noise may change."""
        if not body or len(body) > LARGEST_RESULT or not is_readable(content_type):
            return None
        named = _CHARSET.search(content_type)
        charset = named[1] if named else "utf-8"
        try:
            text = body.decode(charset)
            if text.encode(charset) != body:
                return None
            if not result_at:
                return HttpResult((text,), schema, (), body, charset)
            path = tuple(split_pointer(result_at))
            value = msgspec.Raw(body)
            for step in path:
                value = _read_items(value)[int(step)] if _is_list(value) else _read_members(value)[step]
            found = _read(value)
        except (msgspec.DecodeError, UnicodeError, LookupError, ValueError, RecursionError):
            return None
        is_string = isinstance(found, str)
        return HttpResult(
            (found if is_string else bytes(value).decode(),), schema, path, body, charset, is_string
        )

    def accept(self, text: str) -> str | None:
        """Why the answer may not have this text, or None."""
        value = parse_json(text)
        if value is NOT_JSON:
            return NOT_A_VALUE if self._path and not self._is_string else None
        if self.schema is None or (self._path and self._is_string):
            return None
        body = parse_json(self.write((text,)).decode()) if self._path else value
        was_valid = is_valid(_read(self._body), self.schema)
        return INVALID if was_valid and not is_valid(body, self.schema) else None

    def write(self, texts: Sequence[str | None]) -> bytes:
        """The body with this text; None: as it was."""
        text = texts[0]
        if text is None:
            return self._body
        if not self._path:
            return text.encode(self._charset, "replace")
        value = _write(text) if self._is_string else text.encode()
        return bytes(_put(msgspec.Raw(self._body), self._path, msgspec.Raw(value)))


def _is_list(value: msgspec.Raw) -> bool:
    return bytes(value).lstrip()[:1] == b"["


def _put(body: msgspec.Raw, path: Sequence[str], value: msgspec.Raw) -> msgspec.Raw:
    if not path:
        return value
    step, *rest = path
    if _is_list(body):
        items = _read_items(body)
        items[int(step)] = _put(items[int(step)], rest, value)
        return msgspec.Raw(_write(items))
    members = _read_members(body)
    members[step] = _put(members[step], rest, value)
    return msgspec.Raw(_write(members))


@dataclass(frozen=True, slots=True)
class FailureAnswer:
    """The answer to a call that fails, in place of the API's. Its text says what noise worded."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes


def answer_failure(failure: Failure) -> FailureAnswer:
    """A failure as an API says it: what its stack writes as a body stays one, with the type and the status
    that it says itself. One of kind `close` is no answer: close the link.
    """
    text, kind, status = failure.text, b"application/json", failure.status
    said = parse_json(text)
    if isinstance(said, dict):
        body = text.encode()
        told = next((said[name] for name in _STATUS_MEMBERS if name in said), None)
        if {"title", "detail"} <= said.keys():
            kind = b"application/problem+json"
    elif (markup := _MARKUP.match(text)) is not None:
        body, kind = text.encode(), b"text/html; charset=utf-8" if markup[1] else b"application/xml"
        told = _find_number(_STATUS, text)
    else:
        # The member's name says already that it is an error.
        body = _write({"error": {"message": _LABEL.sub("", text, count=1)}})
        told = _find_number(_STATUS, text)
    if type(told) is int and 400 <= told < 600:
        status = told
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
    if status in ASKS_TO_WAIT:
        retry = _find_number(_RETRY, text) or failure.retry_after_s or 1
        headers.append((b"retry-after", str(retry).encode()))
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    return FailureAnswer(status, tuple(headers), body)


_STATUS_MEMBERS = ("status", "statusCode", "status_code")
_MARKUP = re.compile(r"\s*<(?:(!doctype html|html)|\?xml|[A-Z]\w*>)", re.IGNORECASE)
_STATUS = re.compile(r"(?:\bHTTP[ /][\d.]* ?|status(?: code)?:? ?|<title>|<h1>|^(?:Error )?|: )([45]\d\d)\b")
_LABEL = re.compile(r"\A\s*error(?: [45]\d\d)?:\s+(?=\S)", re.IGNORECASE)
_RETRY = re.compile(r"retry[-_ ]?after\W{0,4}(\d{1,3})\b", re.IGNORECASE)


def _find_number(pattern: re.Pattern[str], text: str) -> int | None:
    found = pattern.search(text[:2000])
    return None if found is None else int(found[1])
