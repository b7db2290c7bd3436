"""The durable recorder: a bounded queue and one writer thread that commits whenever it is free.

Group commit: the writer takes everything that is queued, writes it in one transaction with one sync, resolves
the tickets, and repeats. A single turn waits for one sync; under load, many turns share one. Awaited rows are
never delayed by a timer; other rows linger a moment to share a sync.

Recording never breaks traffic. While the store can't write, tickets are resolved at once with the error,
their rows wait in a bounded buffer and are retried with growing pauses, and rows that don't fit are dropped
and counted.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Iterable, Sequence

import structlog

from crosswind.gateway.config.sections import Detail
from crosswind.gateway.recorder.detail import filter_rows
from crosswind.gateway.recorder.queue import (
    NotDurable,
    RecorderState,
    Submission,
    Ticket,
    settle,
    wake,
    weight,
)
from crosswind.gateway.trajectory.record import Durable, Row
from crosswind.gateway.trajectory.store import RowRefused, Store, StoreError

_log = structlog.get_logger("crosswind.recorder")


class Recorder:
    """Writes rows to a store from a thread of its own.

    `capacity_bytes` bounds the queue in memory. `durability_wait_s` is how long a turn waits for its commit.
    Pauses between attempts on a store that is down grow from `retry_first_s` to `retry_most_s`. Offered rows
    linger `linger_s` at most. Call `submit` from the event loop's thread; `offer` and `state` from any. The
    caller closes the store.
    """

    def __init__(
        self,
        store: Store,
        *,
        detail: Detail = Detail.FULL,
        capacity_bytes: int = 256 * 2**20,
        durability_wait_s: float = 0.2,
        retry_first_s: float = 0.1,
        retry_most_s: float = 5.0,
        linger_s: float = 0.05,
    ) -> None:
        self._store = store
        self._detail = detail
        self._capacity_bytes = capacity_bytes
        self._durability_wait_s = durability_wait_s
        self._retry_first_s = retry_first_s
        self._retry_most_s = retry_most_s
        self._linger_s = linger_s
        self._changed = threading.Condition()
        self._queue: deque[Submission] = deque()
        self._queued = self._queued_bytes = 0
        self._written = self._refused = self._dropped = self._commits = self._failures = 0
        self._down: StoreError | None = None
        self._last_error: str | None = None
        self._awaited = False
        """Whether anyone waits for rows in the queue."""
        self._asleep = False
        """Whether the writer waits without a timeout and must be notified of new rows."""
        self._closing = False
        self._lost_in_closing = 0
        self._thread = threading.Thread(target=self._run, name="crosswind-recorder", daemon=True)
        self._thread.start()

    def submit(self, rows: Sequence[Row], *, retry: bool = True, awaited: bool = True) -> Ticket:
        """Queue the rows to be written together; the ticket is resolved after the commit that covers them.

        Without rows it is a marker, resolved once everything queued before it is written.
        With `retry` false the rows are dropped if that commit fails: the client is told to send them again.
        With `awaited` false the rows linger like offered ones: the caller doesn't wait for the ticket.
        """
        ticket = Ticket(asyncio.get_running_loop())
        self._enqueue(rows, retry, ticket, awaited)
        if ticket.durable is not None:
            ticket.resolve()
        return ticket

    def offer(self, rows: Sequence[Row]) -> None:
        """Queue the rows without a ticket. A crash within `linger_s` may lose them."""
        self._enqueue(rows, True, None, False)

    async def wait_durable(self, ticket: Ticket, wait_s: float | None = None) -> Durable:
        """Wait for the ticket's commit, `durability_wait_s` at most unless told otherwise.

        YES: on disk. LATE: still queued until the store can write. LOST: never.
        """
        outcome = await ticket.outcome(self._durability_wait_s if wait_s is None else wait_s)
        return Durable.LATE if outcome is None else outcome

    async def ensure_durable(self, ticket: Ticket, wait_s: float | None = None) -> None:
        """Wait until the rows are on disk, before telling a client so. Raises NotDurable otherwise."""
        outcome = await ticket.outcome(wait_s)
        if outcome is not Durable.YES:
            why = ticket.error or "the store is slow; try again"
            raise NotDurable(f"not recorded: {why}") from ticket.error

    def state(self) -> RecorderState:
        with self._changed:
            return RecorderState(
                queued=self._queued,
                queued_bytes=self._queued_bytes,
                written=self._written,
                refused=self._refused,
                dropped=self._dropped,
                commits=self._commits,
                failures=self._failures,
                down=self._down is not None,
                last_error=self._last_error,
            )

    async def flush(self, wait_s: float) -> bool:
        """Wait up to `wait_s` seconds until the queue is empty; return whether it is."""
        return await asyncio.to_thread(self._wait_until_empty, wait_s)

    def _wait_until_empty(self, wait_s: float) -> bool:
        with self._changed:
            self._awaited = True
            self._changed.notify_all()
            return self._changed.wait_for(lambda: not self._queued, wait_s)

    def close(self) -> int:
        """Write the queue and stop; return how many rows were lost because the store stayed down."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()
        return self._lost_in_closing

    async def aclose(self) -> int:
        """`close` for an event loop."""
        return await asyncio.to_thread(self.close)

    # The submitting side

    def _enqueue(self, rows: Sequence[Row], retry: bool, ticket: Ticket | None, awaited: bool) -> None:
        kept = filter_rows(rows, self._detail)
        submission = Submission(kept, sum([weight(row) for row in kept]), retry, ticket)
        with self._changed:
            if not kept and (rows or not self._queued):
                settle(submission, Durable.YES)
            elif self._closing:
                self._lose(submission, NotDurable("the recorder is closed: the gateway is shutting down"))
            elif self._queued_bytes + submission.weight > self._capacity_bytes:
                self._lose(submission, NotDurable("the recorder's buffer is full"))
            elif self._down is not None and not retry:
                self._lose(submission, self._down)
            else:
                if self._down is not None:
                    settle(submission, Durable.LATE, self._down)
                self._queue.append(submission)
                self._count(submission, 1)
                self._awaited |= awaited
                if self._awaited or self._asleep:
                    self._changed.notify_all()

    def _lose(self, submission: Submission, error: StoreError) -> None:
        self._dropped += len(submission.rows)
        if self._closing and submission.retry:
            self._lost_in_closing += len(submission.rows)
        self._last_error = str(error)
        settle(submission, Durable.LOST, error)

    def _count(self, submission: Submission, sign: int) -> None:
        self._queued += sign * len(submission.rows)
        self._queued_bytes += sign * submission.weight
        if not self._queued:
            self._changed.notify_all()

    # The writer thread

    def _run(self) -> None:
        pause_s = self._retry_first_s
        while batch := self._take():
            kept = self._write(batch)
            if not kept:
                pause_s = self._retry_first_s
                continue
            with self._changed:
                self._queue.extendleft(reversed(kept))
                self._awaited = True
                if self._closing:
                    self._drop_queue()
                    return
                self._changed.wait_for(lambda: self._closing, timeout=pause_s)
            pause_s = min(2 * pause_s, self._retry_most_s)

    def _take(self) -> list[Submission]:
        """Wait for rows and take all of them; empty once closed and everything is written."""
        with self._changed:
            # Mostly rows that nobody awaits follow a commit: the deliveries of its turns.
            if not self._changed.wait_for(self._should_write, self._linger_s) and not self._queue:
                self._asleep = True
                self._changed.wait_for(lambda: self._queue or self._closing)
                self._asleep = False
                self._changed.wait_for(self._should_write, self._linger_s)
            self._awaited = False
            batch = list(self._queue)
            self._queue.clear()
            return batch

    def _should_write(self) -> bool:
        return self._closing or (self._awaited and bool(self._queue))

    def _write(self, batch: list[Submission]) -> list[Submission]:
        """Write the batch in one transaction; return the submissions to retry if the store is unavailable.

        A refused row must not lose others: its batch is halved until the row is alone.
        """
        parts = deque([batch])
        while parts:
            part = parts.popleft()
            try:
                self._store.write([row for submission in part for row in submission.rows])
            except StoreError as error:
                if not isinstance(error, RowRefused):
                    parts.appendleft(part)
                    return self._keep_for_retry([one for rest in parts for one in rest], error)
                self._split(part, parts, error)
            except Exception as error:
                # A defect in the store or in a row must not end the writer thread.
                self._split(part, parts, RowRefused(f"{type(error).__name__}: {error}"))
            else:
                self._finish_commit(part)
        return []

    def _split(self, part: list[Submission], parts: deque[list[Submission]], error: StoreError) -> None:
        if len(part) > 1:
            half = len(part) // 2
            parts.extendleft((part[half:], part[:half]))
            return
        with self._changed:
            self._count(part[0], -1)
            self._refused += len(part[0].rows)
            self._last_error = str(error)
        _log.error("rows refused by the store", rows=len(part[0].rows), error=str(error))
        self._resolve(part, Durable.LOST, error)

    def _finish_commit(self, part: list[Submission]) -> None:
        with self._changed:
            self._commits += 1
            for submission in part:
                self._count(submission, -1)
                self._written += len(submission.rows)
            recovered, self._down = self._down, None
        if recovered is not None:
            _log.info("the store can write again", rows=sum(len(submission.rows) for submission in part))
        self._resolve(part, Durable.YES)

    def _keep_for_retry(self, waiting: list[Submission], error: StoreError) -> list[Submission]:
        """Settle the tickets; return the submissions to retry."""
        kept = [one for one in waiting if one.retry]
        with self._changed:
            self._failures += 1
            # With nothing to retry, the next submission must find out whether the store is back.
            first, self._down = self._down is None, error if kept else None
            self._last_error = str(error)
            for submission in waiting:
                if not submission.retry:
                    self._count(submission, -1)
                    self._dropped += len(submission.rows)
        if first:
            _log.error("the store can't write; rows are kept and tried again", error=str(error))
        self._resolve(kept, Durable.LATE, error)
        self._resolve([one for one in waiting if not one.retry], Durable.LOST, error)
        return kept

    def _drop_queue(self) -> None:
        """Count and drop the queue when closing on a store that is down. The caller holds the lock."""
        self._lost_in_closing += self._queued
        for submission in self._queue:
            self._count(submission, -1)
            self._dropped += len(submission.rows)
        self._queue.clear()
        _log.error(
            "closed while the store could not write", rows_lost=self._lost_in_closing, error=self._last_error
        )

    def _resolve(self, part: Iterable[Submission], durable: Durable, error: StoreError | None = None) -> None:
        loops: dict[asyncio.AbstractEventLoop, list[Ticket]] = {}
        for submission in part:
            if settle(submission, durable, error) and submission.ticket is not None:
                loops.setdefault(submission.ticket.loop, []).append(submission.ticket)
        for loop, tickets in loops.items():
            try:
                loop.call_soon_threadsafe(wake, tickets)
            except RuntimeError:
                continue  # the loop is closed: no waiters are left
