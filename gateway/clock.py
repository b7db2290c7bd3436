"""The wall clock in the store's unit."""

from __future__ import annotations

import time


def now_us() -> int:
    """Microseconds since the Unix epoch, UTC."""
    return time.time_ns() // 1000


def uptime_us() -> int:
    """Microseconds on a clock that nobody sets. All processes of the machine share it, until it restarts."""
    return time.monotonic_ns() // 1000


_BEGAN_NS = time.time_ns() - time.monotonic_ns()


def steady_us() -> int:
    """`now_us` as it would be if nobody had set the clock since this process began: for comparisons."""
    return (_BEGAN_NS + time.monotonic_ns()) // 1000
