"""Queries and steps by which an SQLite store is kept in order: what may go, its size, its backup."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from crosswind.gateway.trajectory.store import StoreError

# The last that is known of a session: its end, its last turn, or its beginning.
_ACTIVE = """coalesce(closed_us,
  (SELECT created_us FROM turn WHERE session_id = session.id ORDER BY rowid DESC LIMIT 1), created_us)"""
_SETTLED = "(status = 'closed' AND reward_state <> 'pending' OR reward_state = 'expired')"
_SHRINK_PAGES = 512


def expendable(
    connection: sqlite3.Connection, before_us: int | None, everything: bool, limit: int
) -> list[str]:
    """Ids of sessions that may be deleted, oldest first: those whose last activity was before `before_us`.

    Open sessions and those that wait for a reward are spared, unless `everything`. A session whose reward
    expired is taken for ended.
    """
    query = f"""
    SELECT id FROM session
    WHERE (:everything OR {_SETTLED})
      AND (:before IS NULL OR created_us < :before AND {_ACTIVE} < :before)
    ORDER BY created_us, rowid LIMIT :limit"""
    values = {"everything": everything, "before": before_us, "limit": limit}
    return [session_id for (session_id,) in connection.execute(query, values)]


def expire_rewards(connection: sqlite3.Connection, before_us: int, limit: int) -> int:
    """Call the rewards of sessions without activity since `before_us` expired; returns of how many."""
    query = f"""
    UPDATE session SET reward_state = 'expired' WHERE rowid IN (
      SELECT rowid FROM session
      WHERE reward_state = 'pending' AND created_us < :before AND {_ACTIVE} < :before LIMIT :limit)"""
    return connection.execute(query, {"before": before_us, "limit": limit}).rowcount


def used_bytes(connection: sqlite3.Connection) -> int:
    """Bytes that hold something. The file may be larger: free pages are used again."""
    pages, free, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


def shrink(connection: sqlite3.Connection) -> int:
    """Give some free pages back to the file system; returns how many, 0 where there is nothing to give.

    A store that was made without incremental vacuum keeps its free pages; `crosswind store migrate --compact`
    changes that.
    """
    before = connection.execute("PRAGMA freelist_count").fetchone()[0]
    connection.execute(f"PRAGMA incremental_vacuum({_SHRINK_PAGES})").fetchall()
    return int(before - connection.execute("PRAGMA freelist_count").fetchone()[0])


def compact(connection: sqlite3.Connection) -> None:
    """Write the whole file anew without its free pages, able to shrink later. Writers wait meanwhile."""
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    connection.execute("VACUUM")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def backup(source: sqlite3.Connection, target: Path, *, force: bool) -> int:
    """Copy the store as it stands at one moment, while others write to it; returns the copy's bytes.

    The copy is one file of mode 0600, in its place only once it is whole and on disk; its folder is made
    where there is none. StoreError where the target exists and `force` isn't given.
    """
    if target.exists() and not force:
        raise StoreError(f"the backup {target} exists already; name another file, or give --force")
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(partial, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600))
        with closing(sqlite3.connect(partial, isolation_level=None)) as copy:
            # In one step: a copy in several begins anew whenever somebody writes between them.
            source.backup(copy, pages=-1)
            copy.execute("PRAGMA journal_mode = DELETE").fetchall()
        _sync_to_disk(partial)
        partial.replace(target)
        _sync_to_disk(target.parent)
        return target.stat().st_size
    except OSError as error:
        raise StoreError(
            f"the backup {target} can't be written: {error.strerror}; check its folder, owner and free space"
        ) from error
    finally:
        with suppress(OSError):
            partial.unlink()


def _sync_to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
