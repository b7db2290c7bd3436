"""A budget of memory for the bodies of all requests together, received and decoded."""

from __future__ import annotations

import ctypes
import resource
import sys
from pathlib import Path
from threading import Lock
from typing import Protocol

from crosswind.gateway.errors import ServiceError

_SHARE_OF_NEW = 0.8
"""The share of the budget that requests may use which may open a session: those in use are shed last."""
_TRIM_AFTER = 64 << 20
_TRIM_GROWN = 16 << 20
"""By so much the process may have grown since the last `trim`."""
_M_ARENA_MAX = -8
"""glibc's number of this parameter in malloc.h."""


class Holder(Protocol):
    """Whose body takes part of the budget."""

    held: int
    """Bytes as they were received."""
    decoded: int
    over: bool
    """It takes no more."""


class MemoryBudget:
    """Counts bytes that bodies hold: those received on the event loop, those decoded in threads."""

    def __init__(self, limit: int) -> None:
        self.received = 0
        self.decoded = 0
        self.released = 0
        """Bytes given back since the last `trim`."""
        self._resident = _read_resident()
        """Bytes of the process after the last `trim`, or when it was smaller."""
        self._lock = Lock()
        self.configure(limit)

    def configure(self, limit: int) -> None:
        self.limit = limit
        self.limit_of_new = int(limit * _SHARE_OF_NEW)

    @property
    def held(self) -> int:
        return self.received + self.decoded

    def take(self, holder: Holder, count: int) -> bool:
        """Count so many received bytes more; False if there is no room for them."""
        if self.held + count > self.limit:
            return False
        self.received += count
        holder.held += count
        return True

    def take_decoded(self, holder: Holder, count: int, *, in_use: bool) -> bool:
        """The same for decoded bytes, in any thread. `in_use`: they are for a session that is in use."""
        with self._lock:
            if holder.over or self.held + count > (self.limit if in_use else self.limit_of_new):
                return False
            self.decoded += count
            holder.decoded += count
        return True

    def release(self, holder: Holder, count: int) -> None:
        """Give some received bytes back."""
        self.received -= count
        holder.held -= count
        self.released += count

    def release_all(self, holder: Holder) -> None:
        """The holder is over: give all back, and let no thread take more for it."""
        self.release(holder, holder.held)
        with self._lock:
            holder.over = True
            count, holder.decoded = holder.decoded, 0
            self.decoded -= count
        self.released += count

    def trim(self) -> None:
        """Give freed memory back to the system, once much was freed or the process has grown: glibc keeps it
        otherwise.
        """
        if _LIBC is None:
            return
        self._resident = min(resident := _read_resident(), self._resident)
        if self.released >= _TRIM_AFTER or resident >= self._resident + _TRIM_GROWN:
            self.released = 0
            _LIBC.malloc_trim(0)
            self._resident = _read_resident()


def _read_resident() -> int:
    """Bytes of the process that are in memory; 0 where the system doesn't tell them."""
    if _LIBC is None:
        return 0
    return int(Path("/proc/self/statm").read_bytes().split()[1]) * resource.getpagesize()


def use_one_heap() -> None:
    """Let all threads share one heap. Call it before threads start.

    glibc gives each thread a heap of its own. What one thread frees, others can't use: the threads which read
    the store and make its answers kept more than was in use.
    """
    if _LIBC is not None:
        _LIBC.mallopt(_M_ARENA_MAX, 1)


def out_of_memory_budget(limit: int) -> ServiceError:
    """The error of a request that is shed."""
    return ServiceError(
        503,
        f"the bodies of all requests together take more than {limit} bytes; send it again later, "
        "or raise limits.bodies",
        kind="server_error",
        code="bodies_too_large_together",
        headers=[(b"retry-after", b"1")],
    )


def _load_libc() -> ctypes.CDLL | None:
    """The C library, if it is glibc."""
    library = ctypes.CDLL(None) if sys.platform == "linux" else None
    return library if hasattr(library, "malloc_trim") else None


_LIBC = _load_libc()
