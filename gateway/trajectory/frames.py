"""The frames that sessions are known to have stored: a turn need not hash and bring an equal one again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable

from crosswind.gateway.trajectory.content import Frame

_PER_SESSION = 4


class KnownFrames:
    """The last few frames of the sessions that wrote last, `capacity_bytes` of them in all."""

    def __init__(self, capacity_bytes: int = 32 * 2**20) -> None:
        self._capacity_bytes = capacity_bytes
        self._lock = threading.Lock()
        self._bytes = 0
        self._known: OrderedDict[str, tuple[int, tuple[tuple[Frame, bytes], ...]]] = OrderedDict()

    def find(self, session_id: str, frame: Frame) -> tuple[int, bytes] | None:
        """The session's number and the frame's key, where the session is known to have stored it."""
        entry = self._known.get(session_id)
        if entry is not None:
            for known, key in entry[1]:
                if known == frame:
                    return entry[0], key
        return None

    def add(self, session_id: str, number: int, frames: Iterable[tuple[Frame, bytes]]) -> None:
        """Remember what the session of this number has stored."""
        with self._lock:
            earlier = self._known.pop(session_id, (number, ()))
            self._bytes -= _size(earlier[1])
            kept = earlier[1] if earlier[0] == number else ()
            entry = (*frames, *kept)[:_PER_SESSION]
            self._known[session_id] = number, entry
            self._bytes += _size(entry)
            while self._bytes > self._capacity_bytes:
                _, (_, gone) = self._known.popitem(last=False)
                self._bytes -= _size(gone)


def _size(frames: Iterable[tuple[Frame, bytes]]) -> int:
    return sum(len(piece) for frame, _ in frames for piece in frame if piece is not None)
