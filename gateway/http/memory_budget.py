"""A budget of memory for the bodies of all requests together, received and decoded."""

from __future__ import annotations

import ctypes
import sys
from threading import Lock
from typing import Protocol

from crosswind.gateway.errors import ServiceError

_FOR_ANYBODY = 0.8
"""The share of the budget that requests without a known session may use: those in use are shed last."""
_TRIM_AFTER = 64 << 20


class Holder(Protocol):
    """Whose body takes part of the budget."""

    held: int
    over: bool
    """It takes no more."""


class MemoryBudget:
    """Counts bytes that bodies hold. Bodies are decoded in threads, so that it is locked."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.held = 0
        self._released = 0
        """Bytes given back since the last `trim`."""
        self._lock = Lock()

    def take(self, holder: Holder, count: int, *, known: bool = True) -> bool:
        """Count so many bytes more; False if there is no room for them. `known`: they are a session's that is
        in use.
        """
        most = self.limit if known else self.limit * _FOR_ANYBODY
        with self._lock:
            if holder.over or self.held + count > most:
                return False
            self.held += count
            holder.held += count
        return True

    def release(self, holder: Holder, count: int) -> None:
        """Give some bytes back."""
        with self._lock:
            self._release(holder, count)

    def release_all(self, holder: Holder, *, over: bool) -> None:
        """Give all back. `over`: nothing more may be taken, by whatever thread."""
        if holder.held or over:
            with self._lock:
                holder.over = over
                self._release(holder, holder.held)

    def _release(self, holder: Holder, count: int) -> None:
        holder.held -= count
        self.held -= count
        self._released += count

    def trim(self) -> None:
        """Give freed memory back to the system, once much was freed: glibc keeps it otherwise."""
        if self._released >= _TRIM_AFTER and _LIBC is not None:
            self._released = 0
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
