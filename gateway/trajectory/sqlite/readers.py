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

    def __init__(self, path: Path, busy_timeout_s: float) -> None:
        self._path = path
        self._busy_timeout_s = busy_timeout_s
        self._lock = threading.Lock()
        self._closed = False
        self.idle: list[sqlite3.Connection] = []

    def snapshot(self, query: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Run a query of several statements in one snapshot of the store."""

        def whole(connection: sqlite3.Connection) -> T:
            connection.execute("BEGIN")
            found = query(connection, *args, **kwargs)
            connection.execute("COMMIT")
            return found

        return self.look(whole)

    def look(self, query: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Run a query of one statement."""
        with translate_errors(self._path):
            connection = self._borrow()
            try:
                found = query(connection, *args, **kwargs)
            except BaseException:
                connection.close()
                raise
            self._put_back(connection)
            return found

    def _borrow(self) -> sqlite3.Connection:
        with self._lock:
            if self._closed:
                raise StoreError(f"{self._path} is closed")
            if self.idle:
                return self.idle.pop()
        return connect(self._path, self._busy_timeout_s, read_only=True)

    def _put_back(self, connection: sqlite3.Connection) -> None:
        with self._lock:
            if not self._closed:
                self.idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        """Close every connection. Those in use are closed when they are returned."""
        with self._lock:
            self._closed = True
            idle, self.idle = self.idle, []
        for connection in idle:
            connection.close()
