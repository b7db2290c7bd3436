"""Notices that an open store's files were deleted, replaced or truncated by somebody else.

SQLite goes on writing to a file that has lost its name, and all of it is gone at the end.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from pathlib import Path

_HEADER = 32
_STEADY_S = 0.4
"""A size that doesn't fit for so long is no moment of a checkpoint, nor of a copy that is still growing."""
_RESTORE = "put the store's files back or restore a backup to that path, or restart to begin a new store"
_RESTART = "end the gateway with SIGTERM, which writes what it still holds into the store, and start it again"

Identity = tuple[int, int]


class StoreFiles:
    """The files of a store as they were when it was opened: the database, its log and the log's index."""

    def __init__(self, path: Path) -> None:
        """The database must be open, with its log."""
        self._path = path
        self._name = str(path)
        self._identity = _identify(path)
        self._companions = {
            file: found
            for suffix in ("-wal", "-shm")
            if (found := _identify(file := f"{path}{suffix}")) is not None
        }
        self._descriptor = _Descriptors.take(path, self._identity)
        self._misfit = _Lasting()
        self._newcomer = _Lasting()

    def find_problem(self) -> str | None:
        """What happened to the files, with the fix; None if they are the ones that were opened."""
        now = _identify(self._name)
        if now is None:
            return f"{self._path} was deleted or moved while it was open; {_RESTORE}"
        if now != self._identity:
            return f"{self._path} was replaced while it was open; {_RESTORE}"
        for file, identity in self._companions.items():
            if _identify(file) != identity:
                return f"{file} was deleted or replaced while the store was open; {_RESTART}"
        return self._find_truncation()

    def _find_truncation(self) -> str | None:
        if self._descriptor is None:
            return None
        size, expected = _measure(self._descriptor)
        lasting = self._misfit.lasts((size, expected) if size < expected else None)
        if not lasting and size >= _HEADER:
            return None
        return f"{self._path} was truncated to {size} bytes while it was open; {_RESTORE}"

    def find_replacement(self) -> bool:
        """Whether another file is at the path now, and no longer grows to its size."""
        identity = _identify(self._path)
        if identity in (None, self._identity):
            return False
        descriptor = _Descriptors.take(self._path, identity)
        if descriptor is None:
            return False
        try:
            size, expected = _measure(descriptor)
        finally:
            _Descriptors.give_back(identity)
        whole = size >= max(expected, _HEADER)
        return self._newcomer.lasts((identity, size, expected) if whole else None)

    def set_companions_aside(self) -> None:
        """Rename the log of the file that was replaced: SQLite would apply it to the new one."""
        for file, identity in self._companions.items():
            if _identify(file) == identity:
                with suppress(OSError):
                    Path(file).rename(f"{file}.replaced")

    def close(self) -> None:
        """Give up the files. The connections must be closed before."""
        _Descriptors.give_back(self._identity)
        self._descriptor = None


class _Lasting:
    """Whether a finding has stayed the same for a while."""

    def __init__(self) -> None:
        self._found: object = None
        self._since = 0.0

    def lasts(self, found: object) -> bool:
        now = time.monotonic()
        if found != self._found:
            self._found, self._since = found, now
        return found is not None and now - self._since >= _STEADY_S


def _measure(descriptor: int) -> tuple[int, int]:
    """The size of a database, and what its header says of it. They agree but for moments of a checkpoint."""
    header = os.pread(descriptor, _HEADER, 0)
    page = int.from_bytes(header[16:18], "big")
    pages = int.from_bytes(header[28:32], "big")
    return os.fstat(descriptor).st_size, pages * (65536 if page == 1 else page)


class _Descriptors:
    """One descriptor of each open database in this process: closing any drops the locks of all."""

    _open: dict[Identity, tuple[int, int]] = {}  # noqa: RUF012
    _lock = threading.Lock()

    @classmethod
    def take(cls, path: Path, identity: Identity | None) -> int | None:
        if identity is None:
            return None
        with cls._lock:
            descriptor, users = cls._open.get(identity, (-1, 0))
            if not users:
                try:
                    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                except OSError:
                    return None
            cls._open[identity] = descriptor, users + 1
            return descriptor

    @classmethod
    def give_back(cls, identity: Identity | None) -> None:
        with cls._lock:
            if identity is None or identity not in cls._open:
                return
            descriptor, users = cls._open.pop(identity)
            if users > 1:
                cls._open[identity] = descriptor, users - 1
            else:
                os.close(descriptor)


def _identify(path: str | Path) -> Identity | None:
    """Device and inode of the file at a path."""
    try:
        found = os.stat(path)  # noqa: PTH116  (twice a commit, and a third of the time)
    except OSError:
        return None
    return found.st_dev, found.st_ino
