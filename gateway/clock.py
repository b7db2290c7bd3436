"""The wall clock in the store's unit."""

from __future__ import annotations

import time


def now_us() -> int:
    """Microseconds since the Unix epoch, UTC."""
    return time.time_ns() // 1000
