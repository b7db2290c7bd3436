"""Submissions to the recorder with their outcome, and the recorder's statistics."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from crosswind.gateway.trajectory.content import View
from crosswind.gateway.trajectory.record import Durable, Row, Turn
from crosswind.gateway.trajectory.store import StoreError

_ROW_BYTES = 1_000
"""The size of a row in the buffer without its bodies."""


@dataclass(frozen=True, slots=True)
class RecorderState:
    """Statistics of the recorder for metrics and readiness. Counts are rows since the start."""

    queued: int
    queued_bytes: int
    written: int
    refused: int
    """Rows that the store can never take."""
    dropped: int
    """Rows lost because the buffer was full, or because the recorder closed while the store was down."""
    commits: int
    failures: int
    """Commits that failed because the store was unavailable."""
    down: bool
    """Whether the last attempt failed and rows wait for the next one."""
    last_error: str | None


class NotDurable(StoreError):
    """The submitted rows are not on disk. The message gives the reason and the fix."""


class Submission(msgspec.Struct, eq=False):
    """Rows to write together or not at all, and what became of them."""

    rows: Sequence[Row]
    """None any more once they have left the queue."""
    weight: int
    retry: bool = True
    loop: asyncio.AbstractEventLoop | None = None
    """The loop of those who may wait for the outcome, if anyone may."""
    durable: Durable | None = None
    """The outcome; None until it is known."""
    error: StoreError | None = None
    out: bool = False
    """Whether the rows have left the queue: they are on disk or lost."""
    waiting: tuple[asyncio.Future[None], ...] = ()
    """Who waits for the outcome."""

    def settle(self, durable: Durable, error: StoreError | None = None) -> bool:
        """Set the outcome; return whether that is news to those who may wait."""
        if durable is not Durable.LATE:
            self.out, self.rows = True, ()
        if self.durable is not None:
            return False
        self.error = error
        self.durable = durable
        return self.loop is not None

    async def outcome(self, wait_s: float | None) -> Durable:
        """Wait for the outcome; LATE after `wait_s` seconds."""
        if self.durable is None and self.loop is not None:
            waiting = self.loop.create_future()
            self.waiting = (*self.waiting, waiting)
            late = None if wait_s is None else self.loop.call_later(wait_s, _wake, waiting)
            try:
                await waiting
            finally:
                if late is not None:
                    late.cancel()
        return self.durable or Durable.LATE


def _wake(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)


def wake(submissions: Sequence[Submission]) -> None:
    """Wake all who wait for the outcomes. Call this in the event loop, after `settle`."""
    for submission in submissions:
        for waiting in submission.waiting:
            _wake(waiting)


def weigh(rows: Sequence[Row]) -> int:
    """Estimate the bytes of memory that only these rows hold."""
    held = _ROW_BYTES * len(rows)
    for row in rows:
        if isinstance(row, Turn):
            held += _weigh_turn(row)
    return held


def _weigh_turn(turn: Turn) -> int:
    received, sent = turn.received, turn.sent
    held = 3 * _ROW_BYTES
    if received is not None:
        held += _weigh_view(received)
    if sent is not None and sent is not received:
        held += _weigh_view(sent)
    if turn.produced is not None:
        held += _weigh_view(turn.produced)
    if turn.delivered_view is not None:
        held += _weigh_view(turn.delivered_view)
    for completion in turn.completions:
        if completion.token_ids:
            held += 16 * len(completion.token_ids) + 100 * sum(map(len, completion.top_logprobs))
    return held


def _weigh_view(view: View) -> int:
    held = sum(map(len, filter(None, view.frame)))
    return held if view.chain is None else held + len(view.chain.body)
