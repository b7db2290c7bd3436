"""Events of a stream of choices that only say more: relayed as they come, and read later, many at once.

To read a chunk when it comes costs several times what relaying it does. All that has to be known of it at
once is that nobody acts on it: it brings no finish, no call and no end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec

from crosswind.gateway.http.sse import EventSplitter
from crosswind.gateway.protocols.coercion import as_object
from crosswind.gateway.protocols.document import UNREADABLE

T = TypeVar("T")

_MOST = 1 << 13
"""Bytes that are kept unread. To read more at once costs no less, and the stream's end would wait for it."""
_ACTED_ON = (b'"tool_calls"', b"[DONE]", b"\\u00", b"\r")
"""What a call and the end are known by; escapes in which a name could hide; lines that end otherwise."""
_FINISH = re.compile(rb'"finish_reason"(?!: ?null)')

_chunks = msgspec.json.Decoder(list[dict[str, Any]])


def count_deferrable(events: bytes) -> int:
    """How many bytes from the start are whole events, none of which has a finish reason, a part of a call,
    or the end.
    """
    end = len(events)
    for piece in _ACTED_ON:
        if (at := events.find(piece, 0, end)) >= 0:
            end = at
    if (finish := _FINISH.search(events, 0, end)) is not None:
        end = finish.start()
    last = events.rfind(b"\n\n", 0, end)
    return last + 2 if last >= 0 else 0


class DeferredEvents:
    """Whole events that are still to be read."""

    def __init__(self) -> None:
        self._kept: list[bytes] = []
        self._size = 0

    def __bool__(self) -> bool:
        return bool(self._kept)

    def take(self, events: bytes) -> bool:
        """Keep these; True where enough are kept."""
        self._kept.append(events)
        self._size += len(events)
        return self._size > _MOST

    def events(self) -> bytes:
        """All of them; none is kept any longer."""
        events = b"".join(self._kept)
        self._kept.clear()
        self._size = 0
        return events


def read_chunks(events: bytes) -> list[dict[str, Any]]:
    """The JSON objects of all events that have one, in order."""
    found = decode_events(events, _chunks)
    return list(_one_by_one(events)) if found is None else found


def decode_events(events: bytes, decoder: msgspec.json.Decoder[list[T]]) -> list[T] | None:
    """The data of events, read as one JSON array; None where they aren't one such value each, on one line."""
    if not events.startswith(b"data: "):
        return None
    # No line end stands within a JSON text on one line.
    array = events[6:-2].replace(b"\n\ndata: ", b",")
    try:
        found = decoder.decode(b"[%b]" % array)
    except UNREADABLE:
        return None
    # As many as there are events: each of these separators is 8 bytes, and a comma now.
    return found if len(events) - 8 - len(array) == 7 * (len(found) - 1) else None


def _one_by_one(events: bytes) -> Iterator[dict[str, Any]]:
    for event in EventSplitter(len(events)).feed(events):
        chunk = as_object(event.data) if event.data else None
        if chunk is not None:
            yield chunk
