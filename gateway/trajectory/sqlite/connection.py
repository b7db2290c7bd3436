"""Connections to an SQLite store: settings, file mode and error translation."""

from __future__ import annotations

import errno
import os
import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from crosswind.gateway.trajectory.store import RowRefused, StoreError, StoreUnavailable

_TRANSIENT = {
    sqlite3.SQLITE_FULL: "the disk is full; free some space",
    sqlite3.SQLITE_BUSY: "another process holds the write lock; wait for it, or raise busy_timeout_s",
    sqlite3.SQLITE_LOCKED: "another connection holds a lock; wait for it, or raise busy_timeout_s",
    sqlite3.SQLITE_IOERR: "the disk reports an input/output error; check the disk and its free space",
    sqlite3.SQLITE_READONLY: "the file can't be written; check its owner and mode",
    sqlite3.SQLITE_CANTOPEN: "the file can't be opened; check that its folder exists and may be written",
    sqlite3.SQLITE_NOMEM: "there is no memory left",
}
_FATAL = {
    sqlite3.SQLITE_NOTADB: "the file is no SQLite database; name another store",
    sqlite3.SQLITE_CORRUPT: "the file is damaged; restore it from a backup",
}
_PAUSES_S = (0.0002, 0.001)
"""Random pauses, shorter than a commit with its sync and never in step with another process."""
_CHECKPOINT_PAGES = 2000
"""Log pages (8 MB) before they are copied into the database: pages that change often are copied once."""
_CACHE_KIB, _READER_CACHE_KIB = 16 * 1024, 2 * 1024
"""Of the writer's connection and of each reader's: there is one for each thread that reads at a time."""


def private_file(path: Path, *, create: bool) -> None:
    """Create the store's file if it is missing; let only its owner read it and its companion files.

    SQLite gives the `-wal` and `-shm` files the mode of the database.
    """
    if not path.exists() and not create:
        raise StoreError(f"there is no store at {path}; name an existing one")
    if path.is_dir():
        raise StoreError(f"the store's path {path} is a directory; name a file in it")
    try:
        if not path.exists():
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        elif not os.access(path, os.R_OK | os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        for file in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
            if file.exists() and file.stat().st_mode & 0o077:
                file.chmod(0o600)
    except OSError as error:
        raise StoreUnavailable(
            f"the store at {path} can't be opened: {error.strerror}; check its folder, owner and mode"
        ) from error


def connect(path: Path, busy_timeout_s: float, *, read_only: bool = False) -> sqlite3.Connection:
    """Open a connection with the store's settings. Transactions are explicit; threads may pass it on."""
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?mode=rw",  # a file that has just been deleted is not created again
        timeout=busy_timeout_s,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
        uri=True,
    )
    try:
        if not path.stat().st_size:
            # On a file with content this would take the write lock.
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        _switch_to_wal(connection, busy_timeout_s)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
        connection.execute(f"PRAGMA cache_size = -{_READER_CACHE_KIB if read_only else _CACHE_KIB}")
        # Deleted texts are overwritten with zeros, not only unlinked.
        connection.execute("PRAGMA secure_delete = ON")
        if read_only:
            connection.execute("PRAGMA query_only = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def begin_writing(connection: sqlite3.Connection, busy_timeout_s: float) -> None:
    """Begin a write transaction as soon as no other process has one."""
    retry_while_busy(connection, "BEGIN IMMEDIATE", busy_timeout_s)


def _switch_to_wal(connection: sqlite3.Connection, busy_timeout_s: float) -> None:
    """Switch to WAL. SQLite doesn't wait for processes that switch at the same moment."""
    mode = retry_while_busy(connection, "PRAGMA journal_mode = WAL", busy_timeout_s).fetchone()[0]
    if mode != "wal":
        raise StoreError(f"SQLite refuses write-ahead logging here (journal mode {mode}); use a local file")


def retry_while_busy(connection: sqlite3.Connection, statement: str, wait_s: float) -> sqlite3.Cursor:
    """Run a statement that needs a lock.

    SQLite's own busy handler grows to pauses of 100 ms, many commits long, which starves latecomers.
    """
    until = time.monotonic() + wait_s
    while True:
        try:
            return connection.execute(statement)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
        time.sleep(random.uniform(*_PAUSES_S))


@contextmanager
def commit(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Commit the transaction that has begun, or roll it back where the block fails."""
    try:
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        # A full disk may already have rolled it back.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into store errors that name the file and the fix."""
    try:
        yield
    except (sqlite3.IntegrityError, sqlite3.DataError, sqlite3.InterfaceError) as error:
        raise RowRefused(f"{path} refused a row: {error}") from error
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if code in _TRANSIENT:
            raise StoreUnavailable(f"{path}: {error}: {_TRANSIENT[code]}") from error
        raise StoreError(
            f"{path}: {error}: {_FATAL.get(code, 'this is a defect, please report it')}"
        ) from error
