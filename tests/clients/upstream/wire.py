"""What goes over the wire: a reply's head and chunks, and events in the two framings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

JSON = (b"content-type", b"application/json")
SSE = (b"content-type", b"text/event-stream; charset=utf-8")
DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True, slots=True)
class Reply:
    """A status and the body's chunks: each is sent on its own."""

    status: int
    content_type: tuple[bytes, bytes]
    chunks: Iterable[bytes]


def encoded(document: Any) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def plain(document: Any, status: int = 200) -> Reply:
    """A JSON body."""
    return Reply(status, JSON, (encoded(document),))


def stream(chunks: Iterator[bytes]) -> Reply:
    """A stream of events."""
    return Reply(200, SSE, chunks)


def unnamed(document: Any) -> bytes:
    """An event of Chat Completions or Completions: data alone."""
    return b"data: " + encoded(document) + b"\n\n"


def named(document: dict[str, Any]) -> bytes:
    """An event of Responses or Messages: its type is its name too."""
    return b"event: " + str(document["type"]).encode() + b"\ndata: " + encoded(document) + b"\n\n"
