"""Bytes to server-sent events and back, incremental: each event keeps the exact bytes it came in."""

from __future__ import annotations

import re
from dataclasses import dataclass

_BLANK_LINE = re.compile(rb"\r\n\r\n|\n\r\n|\n\n|\r\r")
_LINE_END = re.compile(rb"\r\n|\n|\r")

DONE = b"[DONE]"


@dataclass(frozen=True, slots=True)
class Event:
    """One event: `raw` with its closing blank line; `data` its data lines joined (empty for comments)."""

    raw: bytes
    data: bytes


class EventSplitter:
    """Cuts a byte stream into events. What is left at the end of the stream comes out of `rest`."""

    def __init__(self, limit: int) -> None:
        self._buffer = bytearray()
        self._limit = limit

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that this chunk completes. An event above the limit comes out as it stands, without
        data.
        """
        self._buffer += chunk
        events = []
        position = 0
        while end := _event_end(self._buffer, position):
            raw = bytes(self._buffer[position:end])
            events.append(Event(raw, event_data(raw)))
            position = end
        del self._buffer[:position]
        if len(self._buffer) > self._limit:
            events.append(Event(bytes(self._buffer), b""))
            self._buffer.clear()
        return events

    def rest(self) -> Event | None:
        """What stands after the last blank line; some servers forget to close their last event."""
        raw = bytes(self._buffer)
        self._buffer.clear()
        return Event(raw, event_data(raw)) if raw else None


def _event_end(buffer: bytearray, position: int) -> int:
    """Where the event that begins at a position ends; 0 where it isn't complete."""
    if b"\r" in buffer:
        blank = _BLANK_LINE.search(buffer, position)
        return blank.end() if blank else 0
    found = buffer.find(b"\n\n", position)
    return found + 2 if found >= 0 else 0


def event_data(raw: bytes) -> bytes:
    """The data of an event: its `data:` lines, one leading space removed, joined by line ends."""
    if raw.startswith(b"data:") and raw.find(b"\n") == len(raw) - 2 and b"\r" not in raw:
        return raw[5:-2].removeprefix(b" ")
    lines = [line[5:].removeprefix(b" ") for line in _LINE_END.split(raw) if line.startswith(b"data:")]
    return b"\n".join(lines)


def with_data(event: Event, data: bytes) -> bytes:
    """The event with other data, its other lines kept."""
    kept = [line for line in _LINE_END.split(event.raw) if line and not line.startswith(b"data:")]
    return b"\n".join([*kept, b"data: " + data, b"", b""])
