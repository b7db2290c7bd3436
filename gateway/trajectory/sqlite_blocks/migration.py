"""Carries a store of an older schema over into a new file, and puts that in its place.

The new store is written beside the old one, in short transactions. It notes the last session that has been
compared, so that a migration which was killed goes on there. Then the old file gets a second name, and the
new one takes over the first in one step: at every moment there is a whole store at the path.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from crosswind.gateway.trajectory.sqlite import schema
from crosswind.gateway.trajectory.sqlite.connection import commit, connect, private_file, translate_errors
from crosswind.gateway.trajectory.sqlite.maintenance import sync_to_disk
from crosswind.gateway.trajectory.sqlite_blocks.copying import Copying, Progress
from crosswind.gateway.trajectory.sqlite_blocks.original import estimate_bytes, has_table, hold, readable
from crosswind.gateway.trajectory.store import StoreError, StoreUnavailable

_BUSY_S = 10.0
_STATE = "CREATE TABLE migration (source TEXT NOT NULL, turn INTEGER NOT NULL, session INTEGER NOT NULL)"
"""The old file, and the last session that was compared, by its last turn's row and its number."""
_LEFT_OUT = [
    f"SELECT count(*) FROM {table} WHERE session_id NOT IN (SELECT session_id FROM turn)"
    for table in ("shown", "name_map")
]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a migration has before it."""

    version: int
    sessions: int
    turns: int
    size: int
    """Bytes of the old store."""
    needed: int
    """About how many more bytes of disk it takes."""
    free: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a migration has done."""

    size: int
    """Bytes of the new store."""
    kept: Path
    """The old store."""
    left_out: int
    """Ledger rows of sessions without a turn."""


class Migration:
    """The migration of the store at `path`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._new = Path(f"{path}.migrating")
        self._version = schema.stored_version(path)

    @property
    def version(self) -> int:
        """The store's schema version, 0 for an empty file."""
        return self._version

    @property
    def needed(self) -> bool:
        return 0 < self._version < schema.VERSION

    @property
    def kept(self) -> Path:
        """Where the old store stays."""
        return Path(f"{self._path}.v{self._version}")

    def plan(self) -> Plan:
        """Look at the store. Changes nothing."""
        with (
            translate_errors(self._path),
            closing(sqlite3.connect(f"file:{quote(str(self._path))}?mode=ro", uri=True)) as connection,
        ):
            sessions, turns = (
                connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
                for table in ("session", "turn")
            )
            needed = estimate_bytes(connection, self._version)
        written = self._new.stat().st_size if self._new.exists() else 0
        free = shutil.disk_usage(self._path.parent).free
        size = self._path.stat().st_size
        return Plan(self._version, sessions, turns, size, max(needed - written, 0), free)

    def run(self, progress: Progress) -> Outcome:
        """Migrate the store, or go on where an earlier run stopped. Raises StoreError; then the store at the
        path is the old one, unchanged.
        """
        with hold(self._path) as held:
            self._require_name()
            try:
                with readable(held, self._version, Path(f"{self._new}.old")) as old:
                    self._write(old, progress)
                    left_out = sum(old.execute(query).fetchone()[0] for query in _LEFT_OUT)
            except StoreUnavailable as error:
                raise StoreUnavailable(
                    f"{error}. {self._path} is as it was; run the command again to go on, or delete "
                    f"{self._new}"
                ) from error
            self._swap()
        self.finish()
        return Outcome(self._path.stat().st_size, self.kept, left_out)

    def finish(self) -> None:
        """Take the marks of the migration off the new store, once it is at the path."""
        with translate_errors(self._path), closing(connect(self._path, _BUSY_S)) as connection:
            connection.execute("DROP TABLE IF EXISTS migration")

    def _require_name(self) -> None:
        if self.kept.exists() and not self.kept.samefile(self._path):
            raise StoreError(f"{self.kept} exists already, and the old store is to stay there: move it away")

    def _write(self, old: sqlite3.Connection, progress: Progress) -> None:
        self._discard_other()
        with translate_errors(self._new):
            private_file(self._new, create=True)
            with closing(connect(self._new, _BUSY_S)) as new:
                # A crash of the machine may take the last transactions back, which are then written again.
                new.execute("PRAGMA synchronous = NORMAL")
                if not has_table(new, "migration"):
                    self._create(new)
                Copying(old, new, progress).run()
                new.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                new.execute("PRAGMA journal_mode = DELETE").fetchall()
        sync_to_disk(self._new)

    def _discard_other(self) -> None:
        """Delete what an earlier run left of another state of the old store."""
        if not self._new.exists():
            return
        with (
            translate_errors(self._new),
            closing(sqlite3.connect(self._new, isolation_level=None)) as connection,
        ):
            tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if has_table(connection, "migration"):
                source = connection.execute("SELECT source FROM migration").fetchone()[0]
            elif tables:
                raise StoreError(f"{self._new} exists already, and is no store under migration: move it away")
            else:
                source = None
        if source != self._source():
            for suffix in ("", "-wal", "-shm", "-journal"):
                Path(f"{self._new}{suffix}").unlink(missing_ok=True)

    def _source(self) -> str:
        """What names the old store in this state: nobody writes to it without changing this."""
        found = self._path.stat()
        return f"{found.st_ino} {found.st_size} {found.st_mtime_ns}"

    def _create(self, new: sqlite3.Connection) -> None:
        new.execute("BEGIN IMMEDIATE")
        with commit(new):
            schema.create(new)
            new.execute(_STATE)
            new.execute("INSERT INTO migration VALUES (?, -1, 0)", (self._source(),))

    def _swap(self) -> None:
        try:
            with suppress(FileExistsError):
                os.link(self._path, self.kept)
            sync_to_disk(self._path.parent)
            self._new.replace(self._path)
            sync_to_disk(self._path.parent)
        except OSError as error:
            raise StoreUnavailable(
                f"{self._new} can't take the place of {self._path}: {error.strerror}; check the folder's "
                "owner and mode, and that its file system has hard links"
            ) from error
