"""Ending a long command with a signal."""

from __future__ import annotations

import signal
from threading import Event
from types import FrameType


def stop_on_signals() -> Event:
    """An event that the first SIGTERM or SIGINT sets; the second one ends the process as usual."""
    stop = Event()

    def note(number: int, frame: FrameType | None) -> None:
        stop.set()
        signal.signal(number, signal.SIG_DFL)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, note)
    return stop
