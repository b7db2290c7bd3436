"""Bytes to server-sent events and back, incremental: each event keeps the exact bytes it came in."""

from __future__ import annotations

import re

import msgspec

_BLANK_LINE = re.compile(rb"\r\n\r\n|\n\r\n|\n\n|\r\r")
_LINE_END = re.compile(rb"\r\n|\n|\r")

_BOM = b"\xef\xbb\xbf"
"""May begin a stream, and belongs to no line of it."""

DONE = b"[DONE]"


class SseEvent(msgspec.Struct, frozen=True, gc=False):
    """One event: `raw` with its closing blank line; `data` its data lines joined (empty for comments)."""

    raw: bytes
    data: bytes


class EventSplitter:
    """Cuts a byte stream into events. What is left at the end of the stream comes out of `rest`."""

    def __init__(self, limit: int) -> None:
        self._buffer = bytearray()
        self._limit = limit
        self._looked = 0
        """So many bytes of the buffer end no event, however the next ones go on."""
        self._returns = False
        """There is a carriage return in the buffer."""

    @property
    def between(self) -> bool:
        """Whether no event has begun that isn't complete."""
        return not self._buffer

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """The events that this chunk completes. An event above the limit comes out as it stands, without
        data.
        """
        buffer = self._buffer
        if not buffer and 0 < chunk.find(b"\n\n") == len(chunk) - 2 and b"\r" not in chunk:
            # One event, as engines send them.
            return [SseEvent(chunk, read_event_data(chunk))]
        buffer += chunk
        self._returns |= b"\r" in chunk
        events = []
        position, looked = 0, self._looked
        while end := self._event_end(max(position, looked)):
            raw = bytes(buffer[position:end])
            events.append(SseEvent(raw, read_event_data(raw)))
            position = end
        del buffer[:position]
        if len(buffer) > self._limit:
            events.append(SseEvent(bytes(buffer), b""))
            buffer.clear()
        # A blank line may be begun by three bytes.
        self._looked = max(0, len(buffer) - 3)
        self._returns &= bool(buffer)
        return events

    def _event_end(self, position: int) -> int:
        """Where the first event ends whose end isn't before a position; 0 where none is complete."""
        if self._returns:
            blank = _BLANK_LINE.search(self._buffer, position)
            return blank.end() if blank else 0
        found = self._buffer.find(b"\n\n", position)
        return found + 2 if found >= 0 else 0

    def rest(self) -> SseEvent | None:
        """What stands after the last blank line; some servers forget to close their last event."""
        raw = bytes(self._buffer)
        self._buffer.clear()
        self._looked = 0
        return SseEvent(raw, read_event_data(raw)) if raw else None


def read_event_data(raw: bytes) -> bytes:
    """The data of an event: its `data:` lines, one leading space removed, joined by line ends."""
    if raw.startswith(b"data:") and raw.find(b"\n") == len(raw) - 2 and b"\r" not in raw:
        return raw[5:-2].removeprefix(b" ")
    lines = _LINE_END.split(raw.removeprefix(_BOM))
    return b"\n".join([line[5:].removeprefix(b" ") for line in lines if line.startswith(b"data:")])


def replace_event_data(event: SseEvent, data: bytes) -> bytes:
    """The event with other data, its other lines kept."""
    lines = _LINE_END.split(event.raw.removeprefix(_BOM))
    kept = [line for line in lines if line and not line.startswith(b"data:")]
    changed = b"\n".join([*kept, b"data: " + data, b"", b""])
    return _BOM + changed if event.raw.startswith(_BOM) else changed
