"""The SQLite store: one file in WAL mode, every commit synced, readable with plain `sqlite3`.

One connection writes, under a lock; readers have connections of their own and never wait for it. Other
processes may read and write the same file at the same time.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, ClassVar, Concatenate, ParamSpec, TypeVar

from crosswind.gateway.trajectory.record import Row, TrainStep
from crosswind.gateway.trajectory.sqlite import groups, maintenance, queries, totals, trajectories
from crosswind.gateway.trajectory.sqlite.arrival import StoreClock
from crosswind.gateway.trajectory.sqlite.batch import AlreadyStored, Batch
from crosswind.gateway.trajectory.sqlite.columns import TRAIN_STEP
from crosswind.gateway.trajectory.sqlite.connection import (
    begin_writing,
    commit,
    connect,
    private_file,
    translate_errors,
)
from crosswind.gateway.trajectory.sqlite.deletion import (
    AT_ONCE,
    forget_deleted,
    is_unknown,
    sweep,
)
from crosswind.gateway.trajectory.sqlite.files import StoreFiles
from crosswind.gateway.trajectory.sqlite.known_sessions import KnownSessions
from crosswind.gateway.trajectory.sqlite.outcomes import noise_events, outcomes, withholdings
from crosswind.gateway.trajectory.sqlite.readers import Readers
from crosswind.gateway.trajectory.sqlite.schema import prepare, require_openable
from crosswind.gateway.trajectory.sqlite.summary import summary
from crosswind.gateway.trajectory.sqlite.verification import verify_store
from crosswind.gateway.trajectory.store import RowRefused, Store, StoreError, StoreUnavailable, location

_LOOK_AGAIN_S = 0.05
"""How long after a transaction found the store's files in order the next one begins without a look."""
_PLANNED = TRAIN_STEP.insert(given={"arrival": "arrival()"})
P = ParamSpec("P")
T = TypeVar("T")
Query = Callable[Concatenate[sqlite3.Connection, P], T]
Read = Callable[Concatenate["SqliteStore", P], T]


def _look(query: Query[P, T]) -> Read[P, T]:
    """The method that runs a query of one statement."""

    @wraps(query)
    def read(self: SqliteStore, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._readers.look(query, *args, **kwargs)

    return read


def _snapshot(query: Query[P, T]) -> Read[P, T]:
    """The method that runs a query of several statements in one snapshot of the store."""

    @wraps(query)
    def read(self: SqliteStore, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._readers.snapshot(query, *args, **kwargs)

    return read


class SqliteStore(Store):
    """A trajectory store in the SQLite file at `path`, created (mode 0600) when it is opened.

    `busy_timeout_s` is how long a statement waits for another process's lock before StoreUnavailable.
    """

    schemes: ClassVar[tuple[str, ...]] = ("sqlite",)

    def __init__(self, path: str | Path, *, busy_timeout_s: float = 10.0, create: bool = True) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        self._busy_timeout_s = busy_timeout_s
        self._closed = False
        self._arrival = 0
        """The time of the transaction that is open."""
        self._looked = 0.0
        """When a transaction last found the files in order."""
        self._open(create=create)

    def _open(self, *, create: bool) -> None:
        """Open the file that is at the path. Raises StoreError; then nothing has changed."""
        with translate_errors(self.path):
            private_file(self.path, create=create)
            require_openable(self.path)
            writer = connect(self.path, self._busy_timeout_s)
            try:
                prepare(writer, str(self.path))
                writer.execute("PRAGMA busy_timeout = 0")
            except BaseException:
                writer.close()
                raise
        writer.create_function("arrival", 0, lambda: self._arrival)
        self._writer = writer
        self._known, self._clock = KnownSessions(), StoreClock()
        self._files = StoreFiles(self.path)
        self._readers = Readers(self.path, self._busy_timeout_s, self._require_files)

    def file_problem(self) -> str | None:
        """What somebody did to the files of the open store, with the fix; None if they are in order."""
        return None if self._closed else self._files.find_problem()

    def reopen(self) -> bool:
        """If another store has been put into the place of the one that was opened, go on with that one.

        Returns whether it did. Raises StoreError if what is there can't be opened; then nothing has changed.
        """
        with self._lock:
            if self._closed or not self._files.find_replacement():
                return False
            writer, readers, files = self._writer, self._readers, self._files
            files.set_companions_aside()
            self._open(create=False)
            writer.close()
            readers.close()
            files.close()
            return True

    def _require_files(self) -> None:
        if (problem := self._files.find_problem()) is not None:
            raise StoreUnavailable(problem)

    @classmethod
    def from_url(cls, url: str, **settings: Any) -> SqliteStore:
        """The store of `sqlite:///relative.db` or `sqlite:////absolute.db`."""
        return cls(location(url), **settings)

    def write(self, rows: Sequence[Row]) -> None:
        """Write the rows in one durable transaction. A row with a known identity is not written again.

        Raises StoreUnavailable (try again) or RowRefused (final). Nothing was written then.
        """
        try:
            self._write(rows)
        except AlreadyStored:
            self._write(rows, repeated=True)

    def _write(self, rows: Sequence[Row], *, repeated: bool = False) -> None:
        batch = Batch(rows, self._known, repeated=repeated)
        with self._transaction(batch.remember) as connection:
            try:
                batch.insert(connection, self._arrival)
            except (sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.InterfaceError) as error:
                raise RowRefused(f"{self.path}: {error}") from error
            except RowRefused as error:
                raise RowRefused(f"{self.path}: {error}") from error

    @contextmanager
    def _transaction(self, then: Callable[[], None] = lambda: None) -> Iterator[sqlite3.Connection]:
        """A write transaction. `then` is called once it is on disk, before another one begins."""
        with self._lock, translate_errors(self.path):
            if self._closed:
                raise StoreError(f"{self.path} is closed")
            if time.monotonic() - self._looked > _LOOK_AGAIN_S:
                self._require_files()
            begin_writing(self._writer, self._busy_timeout_s)
            try:
                with commit(self._writer):
                    self._arrival = self._clock.stamp(self._writer)
                    yield self._writer
            except BaseException:
                self._clock.forget()
                raise
            # What went into a file without a name is not durable.
            self._require_files()
            self._looked = time.monotonic()
            then()

    session = _look(queries.session)
    sessions = _snapshot(queries.sessions)
    sessions_of_delivered_id = _snapshot(queries.sessions_of_delivered_id)
    destroyed_answers = _look(queries.destroyed_answers)
    session_of_response = _snapshot(queries.session_of_response)
    owners_of_objects = _snapshot(queries.owners_of_objects)
    turns = _snapshot(queries.turns)
    turns_of_responses = _snapshot(queries.turns_of_responses)
    events = _snapshot(queries.events)
    trajectory = _snapshot(trajectories.trajectory)
    ledger = _snapshot(queries.ledger)
    session_state = _look(queries.session_state)
    ledger_since = _look(queries.ledger_since)
    turns_since = _look(queries.turns_since)
    generated_texts = _snapshot(queries.generated_texts)
    names = _snapshot(queries.names)
    rewards = _snapshot(queries.rewards)
    setting = _look(queries.setting)
    settings = _snapshot(queries.settings)
    settings_as_they_came = _snapshot(queries.settings_as_they_came)
    is_unknown = _look(is_unknown)
    groups_since = _look(groups.groups_since)
    sessions_since = _look(groups.sessions_since)
    group = _snapshot(groups.group)
    prunable_sessions = _snapshot(maintenance.prunable_sessions)
    used_bytes = _snapshot(maintenance.used_bytes)
    steps = _snapshot(totals.steps)
    runs = _snapshot(totals.runs)
    injections = _snapshot(totals.injections)
    noise_by_session = _snapshot(totals.noise_by_session)
    outcomes = _snapshot(outcomes)
    noise_events = _look(noise_events)
    withholdings = _look(withholdings)
    versions = _snapshot(totals.versions)
    counts = _snapshot(totals.counts)
    summary = _snapshot(summary)
    backup = _look(maintenance.backup)
    check = _snapshot(verify_store)

    def plan_step(self, step: TrainStep) -> None:
        """Write the write-ahead row of a step, durable on return. An existing row is kept."""
        with self._transaction() as connection:
            connection.execute(_PLANNED, TRAIN_STEP.encode(step, {}))

    def complete_step(self, step: TrainStep) -> None:
        """Write the outcome of a planned step. Raises StoreError if the step was never planned."""
        row = dict(zip(TRAIN_STEP.names, TRAIN_STEP.encode(step, {}), strict=True))
        with self._transaction() as connection:
            found = connection.execute(
                "UPDATE train_step SET policy_version = :policy_version, metrics_json = :metrics_json, "
                "completed_us = :completed_us WHERE run = :run AND step = :step",
                row,
            )
            if found.rowcount != 1:
                raise StoreError(
                    f"{self.path}: step {step.step} of run {step.run!r} was never planned; plan it first"
                )

    def sweep(self, most: int = AT_ONCE) -> int:
        """Delete at most `most` turns of deleted sessions; return how many, 0 when done."""
        with self._transaction() as connection:
            return sweep(connection, most)

    def expire_rewards(self, idle_s: float, limit: int = 500) -> int:
        """Expire the pending rewards of sessions without activity for `idle_s`; return how many."""
        with self._transaction() as connection:
            return maintenance.expire_rewards(connection, idle_s, limit)

    def forget_deleted(self, age_s: float, limit: int = 500) -> int:
        """Forget the ids of sessions that were deleted longer ago; return how many, `limit` at most."""
        with self._transaction() as connection:
            return forget_deleted(connection, self._arrival - int(age_s * 1e6), limit)

    def shrink(self) -> int:
        """Return some free pages to the file system; the result is how many, 0 if there are none."""
        with self._transaction() as connection:
            return maintenance.shrink(connection)

    def compact(self) -> None:
        """Rewrite the file without its free pages, so that it can shrink later. Writers wait meanwhile."""
        with self._lock, translate_errors(self.path):
            self._writer.execute(f"PRAGMA busy_timeout = {int(1000 * self._busy_timeout_s)}")
            maintenance.compact(self._writer)
            self._writer.execute("PRAGMA busy_timeout = 0")

    def close(self) -> None:
        """Close every connection. Readers still at work close theirs when they are done."""
        with self._lock:
            self._closed = True
            self._writer.close()
        self._readers.close()
        self._files.close()
