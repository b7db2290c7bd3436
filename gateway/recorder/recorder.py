"""The durable recorder: a bounded queue and one writer thread that commits whenever it is free.

Group commit: the writer takes everything that is queued, writes it in one transaction with one sync, settles
the submissions, and repeats. A single turn waits for one sync; under load, many turns share one. While
commits cover several submissions and other requests are in flight, the next one waits for them,
`commit_delay_s` at most. Rows that nobody awaits linger a moment to share a sync.

Recording never breaks traffic. While the store can't write, submissions are settled at once with the error,
their rows wait in a bounded buffer and are retried with growing pauses, and rows that don't fit are dropped
and counted.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any

import structlog

from crosswind.gateway.config.sections import Detail
from crosswind.gateway.recorder.detail import filter_rows
from crosswind.gateway.recorder.queue import (
    NotDurable,
    RecorderState,
    Submission,
    wake,
    weigh,
)
from crosswind.gateway.trajectory.record import Durable, Row
from crosswind.gateway.trajectory.store import RowRefused, Store, StoreError

_log = structlog.get_logger("crosswind.recorder")


class Recorder:
    """Writes rows to a store from a thread of its own.

    `capacity_bytes` bounds the queue in memory. `durability_wait_s` is how long a turn waits for its commit.
    Pauses between attempts on a store that is down grow from `retry_first_s` to `retry_most_s`. Offered rows
    linger `linger_s` at most. `in_flight` counts the requests that may still submit or wait already. Call
    `submit` from the event loop's thread; `offer` and `state` from any. The caller closes the store.
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
        commit_delay_s: float = 0.0,
        in_flight: Callable[[], int] = lambda: 0,
    ) -> None:
        self._store = store
        self._detail = detail
        self._capacity_bytes = capacity_bytes
        self._durability_wait_s = durability_wait_s
        self._retry_first_s = retry_first_s
        self._retry_most_s = retry_most_s
        self._linger_s = linger_s
        self._commit_delay_s = commit_delay_s
        self._in_flight = in_flight
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._queue: deque[Submission] = deque()
        self._queued = self._queued_bytes = 0
        self._written = self._refused = self._dropped = self._commits = self._failures = 0
        self._down: StoreError | None = None
        self._last_error: str | None = None
        self._awaited = 0
        """How many submissions in the queue somebody waits for."""
        self._shared = 0
        """How many such the last commit covered."""
        self._gathering = False
        """Whether the writer waits for more of them, to share a commit."""
        self._asleep = False
        """Whether the writer waits without a timeout and must be notified of new rows."""
        self._idle = False
        """Whether it waits for rows that somebody awaits, for a moment."""
        self._closing = False
        self._lost_in_closing = 0
        self._thread = threading.Thread(target=self._run, name="crosswind-recorder", daemon=True)
        self._thread.start()

    def submit(self, rows: Sequence[Row], *, retry: bool = True, awaited: bool = True) -> Submission:
        """Queue the rows to be written together; the submission is settled after the commit that covers them.

        Without rows it is a marker, settled once everything queued before it is written.
        With `retry` false the rows are dropped if that commit fails: the client is told to send them again.
        With `awaited` false the rows linger like offered ones: the caller doesn't wait for them.
        """
        return self._enqueue(rows, retry, asyncio.get_running_loop(), awaited)

    def offer(self, rows: Sequence[Row]) -> None:
        """Queue the rows for nobody to wait for. A crash within `linger_s` may lose them."""
        self._enqueue(rows, True, None, False)

    def wait_durable(self, submission: Submission) -> Coroutine[Any, Any, Durable]:
        """Wait for the submission's commit, `durability_wait_s` at most.

        YES: on disk. LATE: still queued until the store can write. LOST: never.
        """
        return submission.outcome(self._durability_wait_s)

    async def ensure_durable(self, submission: Submission, wait_s: float | None = None) -> None:
        """Wait until the rows are on disk, before telling a client so. Raises NotDurable otherwise."""
        outcome = await submission.outcome(wait_s)
        if outcome is not Durable.YES:
            why = submission.error or "the store is slow; try again"
            raise NotDurable(f"not recorded: {why}") from submission.error

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
            self._awaited += 1
            self._gathering = False
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

    def _enqueue(
        self, rows: Sequence[Row], retry: bool, loop: asyncio.AbstractEventLoop | None, awaited: bool
    ) -> Submission:
        kept = rows if self._detail is Detail.FULL else filter_rows(rows, self._detail)
        weight = weigh(kept)
        submission = Submission(kept, weight, retry, loop)
        with self._lock:
            held = self._queued_bytes + weight
            if not kept and (rows or not self._queued):
                submission.settle(Durable.YES)
            elif self._closing:
                self._lose(submission, NotDurable("the recorder is closed: the gateway is shutting down"))
            elif held > self._capacity_bytes:
                self._lose(submission, NotDurable("the recorder's buffer is full"))
            elif (down := self._down) is not None and not retry:
                self._lose(submission, down)
            else:
                if down is not None:
                    submission.settle(Durable.LATE, down)
                self._queue.append(submission)
                self._queued += len(kept)
                self._queued_bytes = held
                self._awaited += awaited
                if (
                    self._asleep
                    or (self._idle and self._awaited)
                    or (self._gathering and not self._expects_more())
                ):
                    self._asleep = self._idle = self._gathering = False
                    self._changed.notify_all()
        return submission

    def _lose(self, submission: Submission, error: StoreError) -> None:
        lost = len(submission.rows)
        self._dropped += lost
        if self._closing and submission.retry:
            self._lost_in_closing += lost
        self._last_error = str(error)
        submission.settle(Durable.LOST, error)

    def _take_off(self, part: Sequence[Submission]) -> int:
        """Count off submissions that leave the queue; return how many rows they have. The caller holds the
        lock."""
        rows = sum([len(one.rows) for one in part])
        self._queued -= rows
        self._queued_bytes -= sum([one.weight for one in part])
        if not self._queued:
            self._changed.notify_all()
        return rows

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
                self._awaited += 1
                if self._closing:
                    self._drop_queue()
                    return
                self._changed.wait_for(lambda: self._closing, timeout=pause_s)
            pause_s = min(2 * pause_s, self._retry_most_s)

    def _take(self) -> list[Submission]:
        """Wait for rows and take all of them; empty once closed and everything is written."""
        with self._changed:
            # Mostly rows that nobody awaits follow a commit: the deliveries of its turns.
            if not self._wait_for_awaited() and not self._queue:
                self._asleep = True
                self._changed.wait_for(lambda: self._queue or self._closing)
                self._asleep = False
                self._wait_for_awaited()
            if self._shared > 1 and self._expects_more():
                self._gathering = True
                self._changed.wait_for(lambda: not self._gathering or self._closing, self._commit_delay_s)
                self._gathering = False
            self._shared, self._awaited = self._awaited, 0
            batch = list(self._queue)
            self._queue.clear()
            return batch

    def _wait_for_awaited(self) -> bool:
        """Wait for rows that somebody awaits, as long as others may linger. The caller holds the lock."""
        self._idle = True
        found = self._changed.wait_for(self._should_write, self._linger_s)
        self._idle = False
        return found

    def _should_write(self) -> bool:
        return self._closing or (self._awaited > 0 and bool(self._queue))

    def _expects_more(self) -> bool:
        """Whether requests are in flight that haven't submitted their rows yet."""
        return 0 < self._awaited < self._in_flight()

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
            rows = self._take_off(part)
            self._refused += rows
            self._last_error = str(error)
        _log.error("rows refused by the store", rows=rows, error=str(error))
        self._settle(part, Durable.LOST, error)

    def _finish_commit(self, part: list[Submission]) -> None:
        with self._lock:
            self._commits += 1
            rows = self._take_off(part)
            self._written += rows
            recovered, self._down = self._down, None
        if recovered is not None:
            _log.info("the store can write again", rows=rows)
        self._settle(part, Durable.YES)

    def _keep_for_retry(self, waiting: list[Submission], error: StoreError) -> list[Submission]:
        """Settle the submissions; return those to retry."""
        kept = [one for one in waiting if one.retry]
        given_up = [one for one in waiting if not one.retry]
        with self._changed:
            self._failures += 1
            # With nothing to retry, the next submission must find out whether the store is back.
            first, self._down = self._down is None, error if kept else None
            self._last_error = str(error)
            self._dropped += self._take_off(given_up)
        if first:
            _log.error("the store can't write; rows are kept and tried again", error=str(error))
        self._settle(kept, Durable.LATE, error)
        self._settle(given_up, Durable.LOST, error)
        return kept

    def _drop_queue(self) -> None:
        """Count and drop the queue when closing on a store that is down. The caller holds the lock."""
        rows = self._take_off(self._queue)
        self._lost_in_closing += rows
        self._dropped += rows
        self._queue.clear()
        _log.error(
            "closed while the store could not write", rows_lost=self._lost_in_closing, error=self._last_error
        )

    def _settle(self, part: Sequence[Submission], durable: Durable, error: StoreError | None = None) -> None:
        """Set the outcome of the submissions, and wake those who wait for it, once in each loop."""
        news = [one for one in part if one.settle(durable, error)]
        for loop in {one.loop for one in news if one.loop is not None}:
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(wake, [one for one in news if one.loop is loop])
