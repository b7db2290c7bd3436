"""Replies as bytes: those of a provider's routes, and those that a script writes outside every protocol."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

JSON = (b"content-type", b"application/json")
SSE = (b"content-type", b"text/event-stream; charset=utf-8")
DONE = b"data: [DONE]\n\n"
CUT = b"\x00cut"
"""A chunk that isn't sent: the provider breaks the connection in its place."""
CREATED = 1_760_000_000
"""The time that every reply says it was made at, in seconds since 1970."""


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """A request as it reached the provider."""

    method: str
    path: str
    """With its query."""
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def texts(self) -> list[Any]:
        """The contents of a chat request's messages."""
        return [message["content"] for message in self.json["messages"]]


Part = tuple[int, list[tuple[bytes, bytes]]] | bytes
"""First the status and headers, then chunks of the body."""
Reply = Callable[[ReceivedRequest], AsyncIterator[Part]]
"""An async generator function: it writes a reply part by part, and may wait in between."""


def plain(body: bytes | dict[str, Any], status: int = 200, *headers: tuple[bytes, bytes]) -> Reply:
    """A reply with this body."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()

    async def reply(_: ReceivedRequest) -> AsyncIterator[Part]:
        yield status, [JSON, (b"content-length", str(len(raw)).encode()), *headers]
        yield raw

    return reply


def chunks(*parts: bytes, before: Callable[[int], Awaitable[Any]] | None = None) -> Reply:
    """A streamed reply; `before` is awaited with each part's number before it is sent."""

    async def reply(_: ReceivedRequest) -> AsyncIterator[Part]:
        yield 200, [SSE]
        for number, part in enumerate(parts):
            if before is not None:
                await before(number)
            yield part

    return reply


@dataclass(frozen=True, slots=True)
class RouteResponse:
    """What a route answers: a document, or the events of a stream."""

    body: Any = None
    events: Iterable[bytes] | None = None
    status: int = 200


def break_off(events: Iterable[bytes], after: int, failure: bytes) -> Iterator[bytes]:
    """A stream that fails after so many events."""
    yield from islice(events, after)
    yield failure


def encode(document: Any) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def data_event(document: Any) -> bytes:
    """An event of Chat Completions or Completions: data alone."""
    return b"data: " + encode(document) + b"\n\n"


def named_event(document: dict[str, Any]) -> bytes:
    """An event of Responses or Messages: its type is its name too."""
    return b"event: " + str(document["type"]).encode() + b"\ndata: " + encode(document) + b"\n\n"
