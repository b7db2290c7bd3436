"""Stream events that only add to a text: they are relayed at once, and read later, many at a time.

Reading a chunk costs several times what relaying it does. All that has to be known at once is that nobody
acts on it: it has no finish reason, no call and no end.
"""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec

from crosswind.gateway.http.sse import EventSplitter
from crosswind.gateway.protocols.json_values import UNREADABLE, as_object

T = TypeVar("T")

_MOST = 1 << 13
"""The most bytes that are kept unread. Reading more at once saves nothing, and the stream's end waits for it.
"""
_ACTED_ON = (b'"tool_calls"', b"[DONE]", b"\\u00", b"\r")
"""The signs of a call and of the end, escapes in which a name could hide, and other line ends."""
_FINISH = re.compile(rb'"finish_reason"(?!: ?null)')

_chunks = msgspec.json.Decoder(list[dict[str, Any]])


def count_deferrable(events: bytes) -> int:
    """How many bytes from the start are whole events without a finish reason, a call, or the end."""
    end = len(events)
    for piece in _ACTED_ON:
        if (at := events.find(piece, 0, end)) >= 0:
            end = at
    if (finish := _FINISH.search(events, 0, end)) is not None:
        end = finish.start()
    last = events.rfind(b"\n\n", 0, end)
    return last + 2 if last >= 0 else 0


class DeferredEvents:
    """Whole events that are not yet read."""

    def __init__(self) -> None:
        self._kept: list[bytes] = []
        self._size = 0

    def __bool__(self) -> bool:
        return bool(self._kept)

    def take(self, events: bytes) -> bool:
        """Keep these events; True if enough are kept."""
        self._kept.append(events)
        self._size += len(events)
        return self._size > _MOST

    def take_all(self) -> bytes:
        """Give them all, and keep none."""
        events = b"".join(self._kept)
        self._kept.clear()
        self._size = 0
        return events


def read_chunks(events: bytes) -> list[dict[str, Any]]:
    """The JSON objects of all events that have one, in order."""
    found = decode_events(events, _chunks)
    return (
        found
        if found is not None
        else [
            chunk
            for event in EventSplitter(len(events)).feed(events)
            if event.data and (chunk := as_object(event.data)) is not None
        ]
    )


def decode_events(events: bytes, decoder: msgspec.json.Decoder[list[T]]) -> list[T] | None:
    """The data of events, decoded as one JSON array; None if they aren't one such value each, on one line."""
    if not events.startswith(b"data: "):
        return None
    # A JSON text on one line has no line end in it.
    array = events[6:-2].replace(b"\n\ndata: ", b",")
    try:
        found = decoder.decode(b"[%b]" % array)
    except UNREADABLE:
        return None
    # There must be as many values as events: each separator of 8 bytes has become a comma.
    return found if len(events) - 8 - len(array) == 7 * (len(found) - 1) else None
