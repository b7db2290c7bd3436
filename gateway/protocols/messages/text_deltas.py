"""Messages: stream events that only add to a text are relayed at once, and read later, many at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from crosswind.gateway.protocols.json_values import UNREADABLE, as_object

_PREFIX = b"event: content_block_delta\ndata: "
_SAYING = re.compile(
    rb"(?:event: content_block_delta\n"
    rb'data: \{"type": ?"content_block_delta", ?"index": ?\d+, ?"delta": ?'
    rb'\{"type": ?"(?:text_delta", ?"text|thinking_delta", ?"thinking)": ?'
    rb'"[^"\\\r\n]*(?:\\[^\r\n][^"\\\r\n]*)*"\} *\} *\n\n)+'
)
"""Nothing else fits, not even a second `type`."""


_MOST = 1 << 13
"""The most bytes that are kept unread. Reading more at once saves nothing, and the stream's end waits for it.
"""


class _Event(msgspec.Struct, gc=False):
    index: int
    delta: dict[str, Any]


_events = msgspec.json.Decoder(list[_Event])

Delta = tuple[int, Mapping[str, Any]]
"""A block's index, and the addition to it."""


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


def count_deferrable(events: bytes) -> int:
    """How many bytes from the start are whole events that only add to a text or to thinking."""
    found = _SAYING.match(events)
    return found.end() if found else 0


def read_deltas(events: bytes) -> Iterator[Delta]:
    """The deltas of such events, in order."""
    texts = events[len(_PREFIX) : -2].split(b"\n\n" + _PREFIX)
    try:
        found = _events.decode(b"[%b]" % b",".join(texts))
    except UNREADABLE:
        singly = (as_object(text) for text in texts)
        return ((event["index"], event["delta"]) for event in singly if event is not None)
    return ((event.index, event.delta) for event in found)
