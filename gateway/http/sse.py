"""Split a byte stream into server-sent events, which keep their exact bytes."""

from __future__ import annotations

import re

import msgspec

_BLANK_LINE = re.compile(rb"\r\n\r\n|\n\r\n|\n\n|\r\r")
_LINE_END = re.compile(rb"\r\n|\n|\r")

_BOM = b"\xef\xbb\xbf"
"""It may begin a stream, and belongs to no line."""

DONE = b"[DONE]"
DONE_EVENT = b"data: [DONE]\n\n"


class SseEvent(msgspec.Struct, frozen=True, gc=False):
    """One event: `raw` with its blank line, `data` its joined data lines (empty for comments)."""

    raw: bytes
    data: bytes


class EventSplitter:
    """Splits a byte stream into events. `rest` gives what is left at its end."""

    def __init__(self, limit: int) -> None:
        self._buffer = bytearray()
        self._limit = limit
        self._looked = 0
        """The number of bytes in the buffer that end no event, whatever follows."""
        self._returns = False
        """The buffer has a carriage return."""

    @property
    def between(self) -> bool:
        """Whether no event is incomplete."""
        return not self._buffer

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """The events that this chunk completes. One above the limit comes out incomplete, without data."""
        buffer = self._buffer
        if not buffer and 0 < chunk.find(b"\n\n") == len(chunk) - 2 and b"\r" not in chunk:
            # The usual case: one whole event.
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
        # The last three bytes may begin a blank line.
        self._looked = max(0, len(buffer) - 3)
        self._returns &= bool(buffer)
        return events

    def _event_end(self, position: int) -> int:
        """The end of the first event that ends behind a position; 0 if none is complete."""
        if self._returns:
            blank = _BLANK_LINE.search(self._buffer, position)
            return blank.end() if blank else 0
        found = self._buffer.find(b"\n\n", position)
        return found + 2 if found >= 0 else 0

    def rest(self) -> SseEvent | None:
        """The event after the last blank line: some servers don't close their last one."""
        raw = bytes(self._buffer)
        self._buffer.clear()
        self._looked = 0
        return SseEvent(raw, read_event_data(raw)) if raw else None


def read_event_data(raw: bytes) -> bytes:
    """An event's data: its `data:` lines without one leading space, joined by line ends."""
    if raw.startswith(b"data:") and raw.find(b"\n") == len(raw) - 2 and b"\r" not in raw:
        return raw[5:-2].removeprefix(b" ")
    lines = _LINE_END.split(raw.removeprefix(_BOM))
    return b"\n".join([line[5:].removeprefix(b" ") for line in lines if line.startswith(b"data:")])


def write_event(kind: str, data: bytes) -> bytes:
    """An event of this type."""
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), data)


def replace_event_data(event: SseEvent, data: bytes) -> bytes:
    """The event with other data; its other lines are kept."""
    lines = _LINE_END.split(event.raw.removeprefix(_BOM))
    kept = [line for line in lines if line and not line.startswith(b"data:")]
    changed = b"\n".join([*kept, b"data: " + data, b"", b""])
    return _BOM + changed if event.raw.startswith(_BOM) else changed
