"""Bytes from and to pipes whose other ends, and whose flags, others share. The standard library only."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Iterator

_PIECE = 1 << 18
LONGEST_LINE = 256 << 20
"""Bytes of a line that are held until its end has come; of a longer one, the pieces are lines."""


def read_lines(fd: int) -> Iterator[bytes]:
    """The lines of a pipe, each with its end; the last may have none. O_NONBLOCK isn't set, since it would be
    for everybody who shares the description, and may be set by others.
    """
    rest, searched = bytearray(), 0
    while piece := _read(fd):
        rest += piece
        while (end := rest.find(b"\n", searched)) >= 0:
            yield bytes(rest[: end + 1])
            del rest[: end + 1]
            searched = 0
        searched = len(rest)
        if searched > LONGEST_LINE:
            yield bytes(rest)
            rest.clear()
            searched = 0
    if rest:
        yield bytes(rest)


def _read(fd: int) -> bytes:
    while True:
        try:
            return os.read(fd, _PIECE)
        except BlockingIOError:
            select.select([fd], [], [])
        except OSError:
            return b""


class Sink:
    """The writing end of a pipe, for several threads. Once the other side is gone it takes nothing more."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lock = threading.Lock()
        self.gone = threading.Event()
        """Set when the other side no longer reads."""
        self.written = 0
        """Bytes so far."""

    def write(self, data: bytes) -> None:
        """Write all of it, in one piece as far as other threads are concerned."""
        with self._lock:
            view = memoryview(data)
            while view and not self.gone.is_set():
                try:
                    written = os.write(self._fd, view[:_PIECE])
                    self.written += written
                    view = view[written:]
                except BlockingIOError:
                    select.select([], [self._fd], [])
                except OSError:
                    self.gone.set()

    def close(self) -> None:
        with self._lock:
            if not self.gone.is_set():
                self.gone.set()
                os.close(self._fd)


def has_lost_reader(fd: int) -> bool:
    """Whether nobody reads a pipe any more, as far as can be told without writing."""
    try:
        poll = select.poll()
        poll.register(fd, 0)
        return bool(poll.poll(0))
    except (OSError, ValueError):
        return True
