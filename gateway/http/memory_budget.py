"""A budget of memory for the bodies of all requests together, received and decoded."""

from __future__ import annotations

import ctypes
import sys
from threading import Lock
from typing import Protocol

from crosswind.gateway.errors import ServiceError

_SHARE_OF_NEW = 0.8
"""The share of the budget that requests may use which may open a session: those in use are shed last."""
_TRIM_AFTER = 64 << 20


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
        """Give freed memory back to the system, once much was freed: glibc keeps it otherwise."""
        if self.released >= _TRIM_AFTER and _LIBC is not None:
            self.released = 0
            _LIBC.malloc_trim(0)


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
