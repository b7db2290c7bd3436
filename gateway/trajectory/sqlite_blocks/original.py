"""The store to migrate, held so that no other process opens it meanwhile. Its rows are never changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from crosswind.gateway.trajectory.sqlite.connection import private_file, translate_errors
from crosswind.gateway.trajectory.sqlite.maintenance import used_bytes
from crosswind.gateway.trajectory.sqlite_blocks.schema import migrate
from crosswind.gateway.trajectory.store import StoreUnavailable

_READABLE = 9
"""Stores of this version and later are read as they are; older ones are first brought up, as a copy."""
_SHARED = "SELECT coalesce(sum(length(body)), 0) FROM share JOIN block ON hash = key WHERE kind = 0"


@contextmanager
def hold(path: Path) -> Iterator[sqlite3.Connection]:
    """Hold the store at `path` for the block, as one file without a log. Raises StoreError if it is open.

    The process must not open and close the file by other means meanwhile: that would release the lock.
    """
    with closing(_connect(path)) as connection:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        try:
            with translate_errors(path):
                # Its log, if it has one, goes into the file.
                connection.execute("PRAGMA journal_mode = DELETE").fetchone()
                connection.execute("BEGIN EXCLUSIVE")
                connection.execute("COMMIT")
                connection.execute("PRAGMA query_only = ON")
        except StoreUnavailable as error:
            cause = error.__cause__
            if not isinstance(cause, sqlite3.Error) or cause.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            raise StoreUnavailable(
                f"{path} is open in another process; end the gateway with SIGTERM, and what else reads it"
            ) from error
        Path(f"{path}-shm").unlink(missing_ok=True)
        yield connection


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{quote(str(path))}?mode=rw", uri=True, isolation_level=None, timeout=0)


@contextmanager
def readable(held: sqlite3.Connection, version: int, copy: Path) -> Iterator[sqlite3.Connection]:
    """A connection that reads the store's rows in the form of version 9 or 10; an older store is copied."""
    if version >= _READABLE:
        yield held
        return
    copy.unlink(missing_ok=True)
    try:
        private_file(copy, create=True)
        with closing(_connect(copy)) as connection, translate_errors(copy):
            connection.execute("PRAGMA synchronous = OFF")
            held.backup(connection)
            migrate(connection, str(copy))
            yield connection
    finally:
        for suffix in ("", "-journal"):
            with suppress(OSError):
                Path(f"{copy}{suffix}").unlink(missing_ok=True)


def estimate_bytes(connection: sqlite3.Connection, version: int) -> int:
    """About how much disk the migration takes. Content that sessions share is stored once per session."""
    used = used_bytes(connection)
    shared = connection.execute(_SHARED).fetchone()[0] if has_table(connection, "share") else used
    return int(used + shared + (0 if version >= _READABLE else used))


def has_table(connection: sqlite3.Connection, name: str) -> bool:
    found = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (name,))
    return found.fetchone() is not None
