"""Maintenance of an SQLite store: retention queries, size and backup."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from crosswind.gateway.trajectory.sqlite.arrival import store_time
from crosswind.gateway.trajectory.store import StoreError

# The last activity of a session: its beginning, its last turn, or its end.
_ACTIVE = """max(
  arrival,
  coalesce((SELECT arrival FROM turn WHERE turn.session = session.number ORDER BY turn.id DESC LIMIT 1), 0),
  coalesce(closed_arrival, 0))"""
_SETTLED = "(status = 'closed' AND reward_state <> 'pending' OR reward_state = 'expired')"
_SHRINK_PAGES = 512


def prunable_sessions(
    connection: sqlite3.Connection, *, idle_s: float | None, everything: bool, limit: int
) -> list[str]:
    query = f"""
    SELECT id, arrival, {_ACTIVE} FROM session WHERE :everything OR {_SETTLED} ORDER BY number"""
    before = None if idle_s is None else store_time(connection) - int(idle_s * 1e6)
    found: list[str] = []
    for session_id, opened, active in connection.execute(query, {"everything": everything}):
        # Those behind it were opened later.
        if len(found) == limit or (before is not None and opened >= before):
            break
        if before is None or active < before:
            found.append(session_id)
    return found


def expire_rewards(connection: sqlite3.Connection, idle_s: float, limit: int) -> int:
    """Expire the pending rewards of sessions without activity for `idle_s`; return how many."""
    query = f"SELECT number, arrival, {_ACTIVE} FROM session WHERE reward_state = 'pending' ORDER BY number"
    before = store_time(connection) - int(idle_s * 1e6)
    found: list[tuple[int]] = []
    for number, opened, active in connection.execute(query):
        if len(found) == limit or opened >= before:
            break
        if active < before:
            found.append((number,))
    connection.executemany(
        "UPDATE session SET reward_state = 'expired', rewarded_arrival = arrival() WHERE number = ?", found
    )
    return len(found)


def used_bytes(connection: sqlite3.Connection) -> int:
    """Bytes in use. The file may be larger, because free pages are kept for reuse."""
    pages, free, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


def shrink(connection: sqlite3.Connection) -> int:
    """Return some free pages to the file system; the result is how many, 0 if there are none.

    A store created without incremental vacuum keeps its free pages; `crosswind store migrate --compact`
    changes that.
    """
    before = connection.execute("PRAGMA freelist_count").fetchone()[0]
    connection.execute(f"PRAGMA incremental_vacuum({_SHRINK_PAGES})").fetchall()
    return int(before - connection.execute("PRAGMA freelist_count").fetchone()[0])


def compact(connection: sqlite3.Connection) -> None:
    """Rewrite the file without its free pages, so that it can shrink later. Writers wait meanwhile."""
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    connection.execute("VACUUM")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def backup(source: sqlite3.Connection, target: Path, *, force: bool = False) -> int:
    """Copy a snapshot of the store while others write to it; return the size of the copy in bytes.

    The copy is one file of mode 0600, moved to its place only when it is complete and on disk. Its folder is
    created if missing. Raises StoreError if the target or a log of one exists and `force` is not given.
    """
    logs = [target.with_name(f"{target.name}{suffix}") for suffix in ("-wal", "-journal", "-shm")]
    for one in (target, *logs):
        if one.exists() and not force:
            raise StoreError(f"the backup {one} exists already; name another file, or give --force")
    if target.exists() and target.samefile(source.execute("PRAGMA database_list").fetchone()[2]):
        raise StoreError(f"{target} is the store itself; name another file")
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(partial, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600))
        with closing(sqlite3.connect(partial, isolation_level=None)) as copy:
            # In one step: a copy in several steps restarts whenever somebody writes between them.
            source.backup(copy, pages=-1)
            copy.execute("PRAGMA journal_mode = DELETE").fetchall()
        sync_to_disk(partial)
        for log in logs:  # SQLite would apply that of the file which is replaced
            log.unlink(missing_ok=True)
        partial.replace(target)
        sync_to_disk(target.parent)
        return target.stat().st_size
    except OSError as error:
        raise StoreError(
            f"the backup {target} can't be written: {error.strerror}; check its folder, owner and free space"
        ) from error
    finally:
        with suppress(OSError):
            partial.unlink()


def sync_to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
