"""A pool of read connections to an SQLite store. They never wait for the writer."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from crosswind.gateway.trajectory.sqlite.connection import connect, translate_errors
from crosswind.gateway.trajectory.store import StoreError

T = TypeVar("T")


class Readers:
    """Read-only connections to the file at `path`, one per concurrent reader."""

    def __init__(self, path: Path, busy_timeout_s: float, require_files: Callable[[], None]) -> None:
        """`require_files` raises StoreError if the path isn't the open store's any more."""
        self._path = path
        self._require_files = require_files
        self._busy_timeout_s = busy_timeout_s
        self._lock = threading.Lock()
        self._closed = False
        self.idle: list[sqlite3.Connection] = []

    def snapshot(self, query: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Run a query of several statements in one snapshot of the store."""

        def run(connection: sqlite3.Connection) -> T:
            connection.execute("BEGIN")
            found = query(connection, *args, **kwargs)
            connection.execute("COMMIT")
            return found

        return self.look(run)

    def look(self, query: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Run a query of one statement."""
        with translate_errors(self._path):
            connection = self._take() or self._connect()
            try:
                found = query(connection, *args, **kwargs)
            except BaseException:
                connection.close()
                raise
            with self._lock:
                if self._closed:
                    connection.close()
                else:
                    self.idle.append(connection)
            return found

    def _take(self) -> sqlite3.Connection | None:
        with self._lock:
            if self._closed:
                raise StoreError(f"{self._path} is closed")
            return self.idle.pop() if self.idle else None

    def _connect(self) -> sqlite3.Connection:
        self._require_files()
        return connect(self._path, self._busy_timeout_s, read_only=True)

    def close(self) -> None:
        """Close every connection. Those in use are closed when they are returned."""
        with self._lock:
            self._closed = True
            idle, self.idle = self.idle, []
        for connection in idle:
            connection.close()
