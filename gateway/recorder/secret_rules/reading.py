"""Read bytes that may be JSON: their escapes, at any depth of JSON in JSON, without losing places."""

from __future__ import annotations

import re
from bisect import bisect_right

Span = tuple[int, int]

_WHITE_SPACE = re.compile(rb"\\[nrt]")
"""Escapes of white space: two spaces stand for them, as many bytes, and one for any other backslash."""
_BACKSLASHES = bytes.maketrans(b"\\", b" ")
_LONGER = re.compile(rb"\\(?:[nrt/]|u00)")
"""What most texts with backslashes lack, but for white space: they escape quotes only."""
_SLASH = re.compile(rb"/(?<=\\/)")
"""An escaped slash. It begins with the byte to look for that texts with quotes have less often."""
_IN_KEYS = re.compile(rb"(?<!\\)\\++(?:u00([2-7][0-9a-fA-F])|/)")
"""Escapes of characters that keys have: some JSON writers escape `+`, `/`, `=`, `&` and the like."""


def escapes_keys(segment: bytes) -> bool:
    """Whether escapes may stand for characters that keys have."""
    # To look for one byte takes a tenth of the time, and most segments that are long have no backslash.
    return segment.find(b"\\") >= 0 and (segment.find(b"\\u00") >= 0 or _SLASH.search(segment) is not None)


class Readable:
    """A segment as it reads, and where each part of it stood."""

    __slots__ = ("_shifts", "escaped", "text")

    def __init__(self, segment: bytes) -> None:
        self._shifts: list[tuple[int, int]] = []
        """(place in the text, place in the segment) behind each escape that got shorter."""
        self.text = segment
        self.escaped = False
        """Whether escapes may stand for characters that keys have."""
        if segment.find(b"\\") < 0:
            return
        self.text = text = segment.replace(b'\\"', b' "')
        if text.find(b"\\") < 0:
            return
        if _LONGER.search(text):
            self.escaped = escapes_keys(text)
            if self.escaped and _IN_KEYS.search(text):  # alone it takes ten times as long
                text = self._unescape(text)
            text = _WHITE_SPACE.sub(b"  ", text)
        self.text = text.translate(_BACKSLASHES)

    def _unescape(self, segment: bytes) -> bytes:
        parts: list[bytes] = []
        at = size = 0
        for escape in _IN_KEYS.finditer(segment):
            shown = bytes([int(escape[1], 16)]) if escape[1] else b"/"
            parts += [segment[at : escape.start()], shown]
            size += escape.start() - at + 1
            at = escape.end()
            self._shifts.append((size, at))
        return b"".join([*parts, segment[at:]])

    def locate(self, spans: list[Span]) -> list[Span]:
        """The spans in the segment for those in the text."""
        if not self._shifts:
            return spans
        return [(self._place(begin), self._place(end)) for begin, end in spans]

    def _place(self, at: int) -> int:
        found = bisect_right(self._shifts, (at, 1 << 62)) - 1
        if found < 0:
            return at
        behind, place = self._shifts[found]
        return place + at - behind
