"""A lock on a file beside the store, by which a second gateway on the same store is noticed.

Two gateways on one store don't know of each other's sessions in memory. That is no reason to refuse: a new
gateway may take over while the old one drains. The workers of one gateway share its claim.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from crosswind.gateway.trajectory.store import StoreError, location


@contextmanager
def claim_store(url: str) -> Iterator[str | None]:
    """Claim a store for the block. Yields the process id of the gateway that has claimed it already."""
    file = _locate(url)
    descriptor = None
    if file is not None:
        with suppress(OSError):
            descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    if file is None or descriptor is None:
        yield None
        return
    try:
        if not _lock(descriptor, fcntl.LOCK_EX):
            yield _read(descriptor)
            return
        os.truncate(descriptor, 0)
        os.write(descriptor, str(os.getpid()).encode())
        try:
            yield None
        finally:
            with suppress(OSError):
                file.unlink()
    finally:
        os.close(descriptor)


def find_claim(url: str) -> str | None:
    """The process id of the gateway that serves a store; None if there is none."""
    file = _locate(url)
    if file is None:
        return None
    try:
        descriptor = os.open(file, os.O_RDONLY)
    except OSError:
        return None
    try:
        return None if _lock(descriptor, fcntl.LOCK_SH) else _read(descriptor)
    finally:
        os.close(descriptor)


def _locate(url: str) -> Path | None:
    """The file of the claim: only stores in one file have one."""
    if not url.startswith("sqlite://"):
        return None
    try:
        return Path(location(url) + ".serving")
    except StoreError:
        return None


def _lock(descriptor: int, how: int) -> bool:
    """Lock without waiting. A file system without locks counts as free."""
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _read(descriptor: int) -> str:
    return os.pread(descriptor, 32, 0).decode("ascii", "replace") or "unknown"
