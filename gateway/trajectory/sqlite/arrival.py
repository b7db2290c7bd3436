"""The store's own time: the order in which rows came, and how long ago, whatever happens to the wall clock.

It begins at the wall clock and runs with the machine's monotonic clock, which all processes share. After a
boot, or on another machine, it begins again at the wall clock, but never before the store's last row.
"""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
import uuid
from contextlib import suppress
from functools import cache
from pathlib import Path

_LAST = """
SELECT coalesce(max(last), 0) FROM (
  SELECT * FROM (SELECT arrival AS last FROM session ORDER BY number DESC LIMIT 1)
  UNION ALL SELECT max(closed_arrival) FROM session WHERE closed_arrival IS NOT NULL
  UNION ALL SELECT * FROM (SELECT arrival FROM turn ORDER BY id DESC LIMIT 1)
  UNION ALL SELECT * FROM (SELECT arrival FROM reward ORDER BY id DESC LIMIT 1)
  UNION ALL SELECT max(arrival) FROM deleted_session)"""


class StoreClock:
    """The time of one store, as one process tells it."""

    def __init__(self) -> None:
        self._offset_us: int | None = None
        self._last = 0

    def stamp(self, connection: sqlite3.Connection) -> int:
        """The time of a write transaction, later than that of every one before. The caller has begun it."""
        if self._offset_us is None:
            self._offset_us, known = _read_offset(connection)
            if not known:
                connection.execute("DELETE FROM clock")
                connection.execute("INSERT INTO clock VALUES (?, ?)", (boot(), self._offset_us))
        self._last = max(self._last + 1, monotonic_us() + self._offset_us)
        return self._last

    def forget(self) -> None:
        """Read the offset again at the next stamp: the transaction that may have written it has failed."""
        self._offset_us = None


def store_time(connection: sqlite3.Connection) -> int:
    """The store's time now. Changes nothing."""
    return monotonic_us() + _read_offset(connection)[0]


def _read_offset(connection: sqlite3.Connection) -> tuple[int, bool]:
    """The offset from the monotonic clock, and whether the store has it already."""
    known = connection.execute("SELECT offset_us FROM clock WHERE boot = ?", (boot(),)).fetchone()
    if known is not None:
        return known[0], True
    last: int = connection.execute(_LAST).fetchone()[0]
    return max(time.time_ns() // 1000, last + 1) - monotonic_us(), False


def monotonic_us() -> int:
    """Microseconds since the machine was booted, its sleep included where the system counts it."""
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime_ns(clock) // 1000


@cache
def boot() -> str:
    """What names this boot of the machine; without that, this process."""
    with suppress(OSError):
        if sys.platform == "darwin":
            command = ["sysctl", "-n", "kern.bootsessionuuid"]
            return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    return uuid.uuid4().hex
