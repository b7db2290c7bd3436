"""The SQLite store: one file in WAL mode, every commit synced, readable with plain `sqlite3`.

One connection writes, under a lock; readers have connections of their own and never wait for it. Other
processes may read and write the same file at the same time.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from crosswind.gateway.trajectory.ledger_rows import NameMap, Shown
from crosswind.gateway.trajectory.record import (
    Event,
    GeneratedText,
    Reward,
    Row,
    Session,
    SessionState,
    Setting,
    TrainStep,
    Trajectory,
    Turn,
    TurnHead,
)
from crosswind.gateway.trajectory.sqlite import maintenance as upkeep
from crosswind.gateway.trajectory.sqlite import queries as reading
from crosswind.gateway.trajectory.sqlite import totals
from crosswind.gateway.trajectory.sqlite.batch import Batch, explain_missing_sessions
from crosswind.gateway.trajectory.sqlite.columns import TRAIN_STEP
from crosswind.gateway.trajectory.sqlite.connection import (
    begin_writing,
    connect,
    private_file,
    translate_errors,
)
from crosswind.gateway.trajectory.sqlite.deletion import BLOCK, CHAIN, FRAME, sweep
from crosswind.gateway.trajectory.sqlite.orphans import delete_orphans, find_orphans
from crosswind.gateway.trajectory.sqlite.readers import Readers
from crosswind.gateway.trajectory.sqlite.schema import migrate
from crosswind.gateway.trajectory.sqlite.segments import KnownFrames
from crosswind.gateway.trajectory.sqlite.verification import VerificationReport, verify_store
from crosswind.gateway.trajectory.store import RowRefused, StoreError, location
from crosswind.gateway.trajectory.summary import Summary, summary

_AT_ONCE = 500
"""Pieces of content deleted per transaction."""


class SqliteStore:
    """A trajectory store in the SQLite file at `path`, created (mode 0600) and migrated when it is opened.

    `busy_timeout_s` is how long a statement waits for another process's lock before StoreUnavailable.
    """

    schemes: ClassVar[tuple[str, ...]] = ("sqlite",)

    def __init__(self, path: str | Path, *, busy_timeout_s: float = 10.0, create: bool = True) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        self._busy_timeout_s = busy_timeout_s
        self._closed = False
        self._foreign_keys = True
        self._known = KnownFrames()
        self._readers = Readers(self.path, busy_timeout_s)
        with translate_errors(self.path):
            private_file(self.path, create=create)
            self._writer = connect(self.path, busy_timeout_s)
            try:
                migrate(self._writer, str(self.path))
                self._writer.execute("PRAGMA busy_timeout = 0")
            except BaseException:
                self._writer.close()
                raise

    @classmethod
    def from_url(cls, url: str, **settings: Any) -> SqliteStore:
        """The store of `sqlite:///relative.db` or `sqlite:////absolute.db`."""
        return cls(location(url), **settings)

    def write(self, rows: Sequence[Row]) -> None:
        """Write the rows in one durable transaction. A row with a known identity is not written again.

        Raises StoreUnavailable (try again) or RowRefused (final). Nothing was written then.
        """
        try:
            self._commit(Batch(rows, self._known))
        except RowRefused:
            # Content assumed to be stored may have been swept since, or be in another store: bring all of it.
            self._commit(Batch(rows, self._known, trust_stored=False))

    def _commit(self, batch: Batch) -> None:
        with self._transaction() as connection:
            try:
                batch.insert(connection)
            except (sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.InterfaceError) as error:
                raise RowRefused(
                    f"{self.path}: {explain_missing_sessions(connection, batch) or error}"
                ) from error
        batch.mark_stored()

    @contextmanager
    def _transaction(self, *, foreign_keys: bool = True) -> Iterator[sqlite3.Connection]:
        with self._lock, translate_errors(self.path):
            if self._closed:
                raise StoreError(f"{self.path} is closed")
            if foreign_keys is not self._foreign_keys:
                self._writer.execute(f"PRAGMA foreign_keys = {int(foreign_keys)}")
                self._foreign_keys = foreign_keys
            begin_writing(self._writer, self._busy_timeout_s)
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            except BaseException:
                # A full disk may already have rolled it back.
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise

    def session(self, session_id: str) -> Session | None:
        return self._readers.look(reading.session, session_id)

    def sessions(
        self,
        *,
        group_id: str | None = None,
        label: Mapping[str, str] | None = None,
        tenant: str | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[Session]:
        """Sessions, newest first."""
        return self._readers.snapshot(reading.sessions, group_id, label or {}, tenant, limit, offset)

    def sessions_given(self, name: str) -> list[str]:
        return self._readers.snapshot(reading.sessions_given, name)

    def session_of_response(self, response_id: str) -> str | None:
        """The id of the newest session with this response."""
        return self._readers.snapshot(reading.session_of_response, response_id)

    def turns(self, session_id: str) -> list[Turn]:
        return self._readers.snapshot(reading.turns, session_id)

    def answered(self, session_id: str, response_id: str) -> Turn | None:
        return self._readers.snapshot(reading.answered, session_id, response_id)

    def events(self, session_id: str) -> list[Event]:
        return self._readers.snapshot(reading.events, session_id)

    def trajectory(self, session_id: str) -> Trajectory | None:
        return self._readers.snapshot(reading.trajectory, session_id)

    def ledger(self, session_id: str) -> list[Shown]:
        return self._readers.snapshot(reading.ledger, session_id)

    def session_state(self, session_id: str) -> SessionState | None:
        """The session's newest row numbers and its state; None if it doesn't exist."""
        return self._readers.look(reading.session_state, session_id)

    def ledger_since(self, session_id: str, after_row: int) -> list[Shown]:
        """The session's ledger rows above `after_row`, in order."""
        return self._readers.look(reading.ledger_since, session_id, after_row)

    def turns_since(self, session_id: str, after_row: int) -> list[TurnHead]:
        """The session's turns above `after_row`, in order of writing."""
        return self._readers.look(reading.turns_since, session_id, after_row)

    def generated(self, keys: Sequence[str]) -> Mapping[str, GeneratedText]:
        """The first text stored under each key. Keys without a text are left out."""
        return self._readers.snapshot(reading.generated, keys)

    def names(self, session_id: str) -> list[NameMap]:
        """The session's name map."""
        return self._readers.snapshot(reading.names, session_id)

    def rewards(self, session_id: str) -> list[Reward]:
        """Every reward of the session, in order of arrival."""
        return self._readers.snapshot(reading.rewards, session_id)

    def setting(self, kind: str, name: str) -> Setting | None:
        return self._readers.look(reading.setting, kind, name)

    def settings(self, kind: str) -> list[Setting]:
        """All settings of a kind, by name."""
        return self._readers.snapshot(reading.settings, kind)

    def completed_groups(self, *, exclude: frozenset[str] = frozenset(), limit: int = 1000) -> list[str]:
        """Ids of groups with all `group_size` sessions closed and rewarded, in order of completion.

        A reopened rollout counts once, as soon as one of its sessions is closed and rewarded.
        """
        return self._readers.snapshot(reading.completed_groups, exclude, limit)

    def group(self, group_id: str) -> list[Trajectory]:
        """The group's trajectories by rollout index, including those of open and abandoned sessions."""
        return self._readers.snapshot(reading.group, group_id)

    def plan_step(self, step: TrainStep) -> None:
        """Write the write-ahead row of a step, durable on return. An existing row is kept."""
        with self._transaction() as connection:
            connection.execute(TRAIN_STEP.insert(), TRAIN_STEP.encode(step))

    def complete_step(self, step: TrainStep) -> None:
        """Write the outcome of a planned step. Raises StoreError if the step was never planned."""
        row = dict(zip(TRAIN_STEP.names, TRAIN_STEP.encode(step), strict=True))
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

    def steps(self, run: str) -> list[TrainStep]:
        """The run's steps in order, the unfinished one (if any) last."""
        return self._readers.snapshot(totals.steps, run)

    def runs(self) -> list[str]:
        """The names of the training runs, oldest first."""
        return self._readers.snapshot(totals.runs)

    def injections(self) -> Mapping[str, int]:
        """Injections per operator; withdrawn ones don't count."""
        return self._readers.snapshot(totals.injections)

    def versions(self) -> list[str]:
        """The policy versions that sampled tokens, in order of their first turn."""
        return self._readers.snapshot(totals.versions)

    def summary(self) -> Summary:
        """Statistics of the store's traffic, for reports."""
        return self._readers.snapshot(summary)

    def counts(self) -> Mapping[str, Any]:
        """Rows per kind (sessions, turns, events, ...), for reports."""
        return self._readers.snapshot(totals.counts)

    def sweep(self, most: int = 500) -> int:
        """Release about `most` pieces of the content of deleted sessions; return how many, 0 when done."""
        with self._transaction(foreign_keys=False) as connection:
            return sweep(connection, most)

    def expendable(self, *, before_us: int | None, everything: bool, limit: int) -> list[str]:
        """List the ids of sessions that may be deleted, oldest first: those without activity since
        `before_us`.
        """
        return self._readers.look(upkeep.expendable, before_us, everything, limit)

    def expire_rewards(self, before_us: int, limit: int = 500) -> int:
        """Expire the pending rewards of sessions without activity since `before_us`; return how many."""
        with self._transaction() as connection:
            return upkeep.expire_rewards(connection, before_us, limit)

    def drop_orphans(self) -> int:
        """Delete the content that no turn refers to; return the number of rows. Scans all content."""
        dropped = 0
        for kind in (CHAIN, FRAME, BLOCK):
            keys = self._readers.snapshot(find_orphans, kind)
            for at in range(0, len(keys), _AT_ONCE):
                with self._transaction(foreign_keys=False) as connection:
                    dropped += delete_orphans(connection, kind, keys[at : at + _AT_ONCE])
        return dropped

    def used_bytes(self) -> int:
        """Bytes in use; free pages do not count."""
        return self._readers.snapshot(upkeep.used_bytes)

    def shrink(self) -> int:
        """Return some free pages to the file system; the result is how many, 0 if there are none."""
        with self._transaction() as connection:
            return upkeep.shrink(connection)

    def compact(self) -> None:
        """Rewrite the file without its free pages, so that it can shrink later. Writers wait meanwhile."""
        with self._lock, translate_errors(self.path):
            self._writer.execute(f"PRAGMA busy_timeout = {int(1000 * self._busy_timeout_s)}")
            upkeep.compact(self._writer)
            self._writer.execute("PRAGMA busy_timeout = 0")

    def backup(self, target: Path, *, force: bool = False) -> int:
        """Copy a snapshot of the store while others write to it; return the size of the copy in bytes."""
        return self._readers.look(partial(upkeep.backup, target=target, force=force))

    def check(self) -> VerificationReport:
        """Check the integrity of the whole store."""
        return self._readers.snapshot(verify_store)

    def close(self) -> None:
        """Close every connection. Readers still at work close theirs when they are done."""
        with self._lock:
            self._closed = True
            self._writer.close()
        self._readers.close()
