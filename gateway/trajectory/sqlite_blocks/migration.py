"""Carries a store of schema version 10 or older over into a new file of the current schema."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from crosswind.gateway.trajectory.record import Event, Row, Turn
from crosswind.gateway.trajectory.sqlite.schema import VERSION, stored_version
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.gateway.trajectory.sqlite_blocks import reader
from crosswind.gateway.trajectory.sqlite_blocks.schema import migrate
from crosswind.gateway.trajectory.store import StoreError

_ARRIVAL = (
    """
    UPDATE session SET (arrival, closed_arrival, rewarded_arrival) = (
      SELECT coalesce(arrival, created_us), coalesce(closed_arrival, closed_us),
        coalesce(rewarded_arrival, rewarded_us) FROM old.session AS was WHERE was.id = session.id)""",
    """
    UPDATE turn SET arrival = (
      SELECT coalesce(was.arrival, was.created_us) FROM old.turn AS was
      JOIN session ON session.id = session_id WHERE number = turn.session
        AND was.turn_index = turn.turn_index AND was.attempt = turn.attempt)""",
    """
    UPDATE reward SET arrival = (
      SELECT coalesce(was.arrival, was.created_us) FROM old.reward AS was
      JOIN session ON session.id = session_id WHERE number = reward.session
        AND was.created_us = reward.created_us AND was.reward = reward.reward AND was.source IS reward.source
        AND was.components_json IS reward.components_json)""",
    """
    UPDATE setting SET arrival = (
      SELECT was.arrival FROM old.setting AS was
      WHERE was.kind = setting.kind AND was.name = setting.name)""",
    """
    UPDATE train_step SET arrival = (
      SELECT coalesce(was.arrival, was.created_us) FROM old.train_step AS was
      WHERE was.run = train_step.run AND was.step = train_step.step)""",
    "INSERT INTO deleted_session SELECT * FROM old.deleted_session",
    "DELETE FROM clock",
    "INSERT INTO clock SELECT * FROM old.clock",
)
"""What restores the order and age of rows, and who was deleted of late. `old` is the older store."""


def migrate_store(path: Path) -> Path | None:
    """Carry the store at `path` over; nobody may use it meanwhile. The old one is kept beside it: the result
    is its new name, or None if the store has the current schema.

    Raises StoreError; then the store is as it was.
    """
    version = stored_version(path)
    if version == VERSION:
        return None
    kept = path.with_name(f"{path.name}.v{version}")
    if kept.exists():
        raise StoreError(f"{kept} exists already, and the old store would be kept there; move it away")
    with _beside(path, "old") as old, _beside(path, "new") as new:
        with closing(sqlite3.connect(path)) as source, closing(_connect(old)) as copy:
            source.backup(copy)
            migrate(copy, str(path))
            _copy(copy, new)
        path.rename(kept)
        new.rename(path)
        for suffix in ("-wal", "-shm"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
    return kept


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None)


@contextmanager
def _beside(path: Path, what: str) -> Iterator[Path]:
    """A private file beside the store, gone at the end unless it was renamed."""
    place = path.with_name(f".{path.name}.{os.getpid()}.{what}")
    place.touch(0o600)
    try:
        yield place
    finally:
        for suffix in ("", "-wal", "-shm"):
            Path(f"{place}{suffix}").unlink(missing_ok=True)


def _copy(old: sqlite3.Connection, path: Path) -> None:
    """Write everything into a new store, and compare it there."""
    with closing(SqliteStore(path)) as new:
        for session_id in reader.session_ids(old):
            rows = reader.session_rows(old, session_id)
            new.write(rows)
            _compare(new, session_id, rows)
        new.write(reader.other_rows(old))
        for step in reader.train_steps(old):
            new.plan_step(step)
        if problems := new.check().problems:
            raise StoreError(f"the store can't be carried over: {problems[0]}")
    with closing(_connect(path)) as connection:
        connection.execute("ATTACH ? AS old", (old.execute("PRAGMA database_list").fetchone()[2],))
        for statement in _ARRIVAL:
            connection.execute(statement)
        connection.execute("DETACH old")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _compare(new: SqliteStore, session_id: str, rows: list[Row]) -> None:
    """Compare the turns, view by view, and the events with those of the old store."""
    turns = [row for row in rows if isinstance(row, Turn)]
    same = sorted(new.turns(session_id), key=_place) == sorted(turns, key=_place)
    if not same or new.events(session_id) != [row for row in rows if isinstance(row, Event)]:
        raise StoreError(f"session {session_id!r} can't be carried over: it reads otherwise in the new store")


def _place(turn: Turn) -> tuple[int, int]:
    return turn.index, turn.attempt
