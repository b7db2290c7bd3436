"""Submissions to the recorder, the tickets with their outcome, and the recorder's statistics."""

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


class Ticket:
    """The outcome of one submission. `durable` is None until it is known."""

    __slots__ = ("_waiting", "durable", "error", "loop", "out")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.durable: Durable | None = None
        self.out = False
        """Whether its rows have left the queue: they are on disk or lost."""
        self.error: StoreError | None = None
        self._waiting: list[asyncio.Future[None]] = []

    def resolve(self) -> None:
        """Wake all waiters. Call this in the event loop, after `durable` is set."""
        for waiting in self._waiting:
            _wake(waiting)

    async def outcome(self, wait_s: float | None) -> Durable | None:
        """Wait for the outcome; None after `wait_s` seconds."""
        if self.durable is None:
            waiting = self.loop.create_future()
            self._waiting.append(waiting)
            late = None if wait_s is None else self.loop.call_later(wait_s, _wake, waiting)
            try:
                await waiting
            finally:
                if late is not None:
                    late.cancel()
        return self.durable


def _wake(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)


class Submission(msgspec.Struct):
    """Rows to write together or not at all."""

    rows: Sequence[Row]
    weight: int
    retry: bool
    ticket: Ticket | None


def settle(submission: Submission, durable: Durable, error: StoreError | None = None) -> bool:
    """Set the outcome on the submission's ticket; return whether that is news to its waiters."""
    ticket = submission.ticket
    if ticket is None:
        return False
    ticket.out |= durable is not Durable.LATE
    if ticket.durable is not None:
        return False
    ticket.error = error
    ticket.durable = durable
    return True


def wake(tickets: Sequence[Ticket]) -> None:
    for ticket in tickets:
        ticket.resolve()


def weight(row: Row) -> int:
    """Estimate the bytes of memory that only this row holds."""
    if not isinstance(row, Turn):
        return _ROW_BYTES
    held = 4 * _ROW_BYTES + _view_weight(row.received) + _view_weight(row.produced)
    if row.sent is not row.received:
        held += _view_weight(row.sent)
    if row.delivered_view is not None:
        held += _view_weight(row.delivered_view)
    for completion in row.completions:
        held += 16 * len(completion.token_ids) + 100 * sum(map(len, completion.top_logprobs))
    return held


def _view_weight(view: View | None) -> int:
    if view is None:
        return 0
    own = len(view.chain.body) if view.chain is not None else 0
    for piece in view.frame:
        if piece is not None:
            own += len(piece)
    return own
