"""The recorder: group commit, refusals that take nobody with them, stores that are down, and the bounded
buffer."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from crosswind.gateway.config.sections import Detail
from crosswind.gateway.recorder.detail import filter_rows
from crosswind.gateway.recorder.queue import NotDurable
from crosswind.gateway.recorder.recorder import Recorder
from crosswind.gateway.trajectory.content import Chain, View
from crosswind.gateway.trajectory.fitness import Fitness, Source
from crosswind.gateway.trajectory.record import (
    Completion,
    Durable,
    InnerRound,
    Reward,
    Row,
    SessionClosed,
    Setting,
    TurnFailure,
)
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from tests.gateway.trajectory import rows

WAIT_S = 60.0
Start = Callable[..., Recorder]


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    """Start recorders. They and their stores are closed after the test."""
    async with AsyncExitStack() as stack:

        def start(store: SqliteStore, **settings: Any) -> Recorder:
            quick = {"durability_wait_s": WAIT_S, "retry_first_s": 0.005, "retry_most_s": 0.02}
            recorder = Recorder(store, **(quick | settings))
            stack.callback(store.close)
            stack.push_async_callback(recorder.aclose)
            return recorder

        yield start


class HeldStore(SqliteStore):
    """A store whose first write waits until the test lets it go, and which counts its transactions."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, busy_timeout_s=0.02)
        self.writing = threading.Event()
        self.go = threading.Event()
        self.batches: list[int] = []

    def write(self, rows: Sequence[Row]) -> None:
        self.writing.set()
        self.go.wait(WAIT_S)
        super().write(rows)
        self.batches.append(len(rows))


async def test_a_ticket_is_resolved_when_its_rows_are_stored(store: SqliteStore, start: Start) -> None:
    recorder = start(store)
    ticket = recorder.submit([rows.session(), rows.turn()])
    assert await recorder.wait_durable(ticket) is Durable.YES
    assert store.turns("s") == [rows.turn()]
    await recorder.ensure_durable(ticket)
    state = recorder.state()
    assert (state.written, state.commits, state.queued, state.queued_bytes, state.down) == (2, 1, 0, 0, False)


async def test_what_queues_up_behind_a_commit_shares_the_next_one(path: Path, start: Start) -> None:
    store = HeldStore(path)
    recorder = start(store)
    first = recorder.submit([rows.session()])
    await asyncio.to_thread(store.writing.wait)
    tickets = [recorder.submit([rows.turn(index=index)]) for index in range(50)]
    recorder.offer([rows.event()])
    store.go.set()
    outcomes = [await recorder.wait_durable(ticket) for ticket in (first, *tickets)]
    assert outcomes == [Durable.YES] * 51
    assert store.batches == [1, 51]


async def share_a_commit(store: HeldStore, recorder: Recorder) -> None:
    """Let a commit cover two submissions, after one that covers a session's row."""
    first = recorder.submit([rows.session()])
    await asyncio.to_thread(store.writing.wait)
    both = [recorder.submit([rows.turn(index=index)]) for index in range(2)]
    store.go.set()
    assert [await recorder.wait_durable(ticket) for ticket in (first, *both)] == [Durable.YES] * 3
    assert store.batches == [1, 2]


async def test_while_commits_are_shared_the_next_waits_for_all_in_flight(path: Path, start: Start) -> None:
    store, in_flight = HeldStore(path), 2
    recorder = start(store, commit_delay_s=WAIT_S, in_flight=lambda: in_flight)
    await share_a_commit(store, recorder)
    in_flight = 3
    tickets = [recorder.submit([rows.turn(index=index)]) for index in range(2, 4)]
    tickets.append(recorder.submit([rows.turn(index=4)]))
    assert [await recorder.wait_durable(ticket) for ticket in tickets] == [Durable.YES] * 3
    assert store.batches == [1, 2, 3]


async def test_a_commit_waits_no_longer_than_its_delay(path: Path, start: Start) -> None:
    store, in_flight = HeldStore(path), 2
    recorder = start(store, commit_delay_s=0.01, in_flight=lambda: in_flight)
    await share_a_commit(store, recorder)
    in_flight = 100
    assert await recorder.wait_durable(recorder.submit([rows.turn(index=2)])) is Durable.YES
    # That commit covered one turn. The next one waits for nobody, however many are in flight.
    recorder._commit_delay_s = WAIT_S
    assert await recorder.wait_durable(recorder.submit([rows.turn(index=3)])) is Durable.YES
    assert store.batches == [1, 2, 1, 1]


@pytest.mark.parametrize(
    "bad",
    [
        {"created_us": 2**63},
        {"model": "m" * 200_000},
        {"model": ["a list"]},
        {"attempt": None},
    ],
    ids=["large number", "large row", "wrong type", "null"],
)
@pytest.mark.parametrize("place", [0, 3, 7, 8])
async def test_a_bad_row_takes_no_other_of_its_statement_along(
    path: Path, start: Start, bad: dict[str, Any], place: int
) -> None:
    store = HeldStore(path)
    store._writer.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 100_000)
    recorder = start(store)
    first = recorder.submit([rows.session()])
    await asyncio.to_thread(store.writing.wait)
    given = [rows.turn(**({"index": at} | (bad if at == place else {}))) for at in range(17)]
    tickets = [recorder.submit([turn]) for turn in given]
    store.go.set()
    outcomes = [await recorder.wait_durable(ticket) for ticket in (first, *tickets)]
    assert outcomes == [Durable.LOST if at == place + 1 else Durable.YES for at in range(18)]
    assert store.turns("s") == [turn for at, turn in enumerate(given) if at != place]


async def test_closing_ends_the_wait_for_others(path: Path, start: Start) -> None:
    store, in_flight = HeldStore(path), 2
    recorder = start(store, commit_delay_s=WAIT_S, in_flight=lambda: in_flight)
    await share_a_commit(store, recorder)
    in_flight = 100
    recorder.submit([rows.turn(index=2)])
    assert await recorder.aclose() == 0 and store.batches == [1, 2, 1]


async def test_a_turn_is_released_late_when_its_commit_takes_too_long(path: Path, start: Start) -> None:
    store = HeldStore(path)
    recorder = start(store, durability_wait_s=0.01)
    ticket = recorder.submit([rows.session()])
    assert await recorder.wait_durable(ticket) is Durable.LATE
    with pytest.raises(NotDurable, match="the store is slow"):
        await recorder.ensure_durable(ticket, 0.01)
    store.go.set()
    await recorder.ensure_durable(ticket, WAIT_S)


async def test_a_mark_is_resolved_once_all_before_it_is_written(path: Path, start: Start) -> None:
    store = HeldStore(path)
    recorder = start(store)
    assert recorder.submit((), retry=False).durable is Durable.YES, "nothing is before it"
    recorder.offer([rows.session()])
    await asyncio.to_thread(store.writing.wait)
    recorder.offer([rows.turn()])
    mark = recorder.submit((), retry=False)
    with pytest.raises(NotDurable, match="the store is slow"):
        await recorder.ensure_durable(mark, 0.01)
    store.go.set()
    assert await recorder.wait_durable(mark) is Durable.YES
    assert store.turns("s") == [rows.turn()]


async def test_a_mark_waits_for_no_store_that_is_down(path: Path, start: Start) -> None:
    store = SqliteStore(path, busy_timeout_s=0.01)
    recorder = start(store)
    with rows.locked(path):
        recorder.offer([rows.session()])
        assert await recorder.wait_durable(recorder.submit((), retry=False)) is Durable.LOST
    assert await recorder.wait_durable(recorder.submit([rows.turn()])) is not Durable.LOST
    assert await recorder.flush(WAIT_S) and store.turns("s") == [rows.turn()]


async def test_a_refused_row_takes_only_its_own_submission_with_it(path: Path, start: Start) -> None:
    store = HeldStore(path)
    recorder = start(store)
    recorder.offer([rows.session()])
    await asyncio.to_thread(store.writing.wait)
    good = [recorder.submit([rows.turn(index=index)]) for index in range(9)]
    bad = recorder.submit([rows.turn(index=100), rows.turn("unknown")])
    worse = recorder.submit(["no row at all"])  # type: ignore[list-item]
    more = recorder.submit([rows.turn(index=10)])
    store.go.set()
    assert [await recorder.wait_durable(ticket) for ticket in (*good, more)] == [Durable.YES] * 10
    assert [await recorder.wait_durable(ticket) for ticket in (bad, worse)] == [Durable.LOST] * 2
    with pytest.raises(NotDurable, match="no session 'unknown'"):
        await recorder.ensure_durable(bad)
    assert [turn.index for turn in store.turns("s")] == [*range(9), 10]
    assert (recorder.state().refused, recorder.state().queued, recorder.state().down) == (3, 0, False)


async def test_a_store_that_is_down_is_told_at_once_and_caught_up_with_later(
    path: Path, start: Start
) -> None:
    store = SqliteStore(path, busy_timeout_s=0.01)
    recorder = start(store)
    with rows.locked(path):
        first = recorder.submit([rows.session()])
        assert await recorder.wait_durable(first) is Durable.LATE, (
            "it will be written, but nobody waits for that"
        )
        with pytest.raises(NotDurable, match="another process holds the write lock"):
            await recorder.ensure_durable(first)
        again = recorder.submit([rows.turn()], retry=False)
        assert await recorder.wait_durable(again) is Durable.LOST
        kept = recorder.submit([rows.turn(index=1)])
        assert kept.durable is Durable.LATE, "while the store is down no turn waits for it"
        state = recorder.state()
        assert state.down and state.queued == 2 and state.dropped == 1 and state.failures >= 1
        assert state.last_error and "write lock" in state.last_error
    assert await recorder.flush(WAIT_S)
    assert [turn.index for turn in store.turns("s")] == [1]
    after = recorder.submit([rows.turn(index=2)])
    assert await recorder.wait_durable(after) is Durable.YES
    assert (recorder.state().down, recorder.state().written) == (False, 3)


async def test_a_store_that_is_back_is_noticed_when_nothing_waited_for_it(path: Path, start: Start) -> None:
    store = SqliteStore(path, busy_timeout_s=0.01)
    recorder = start(store)
    with rows.locked(path), pytest.raises(NotDurable, match="write lock"):
        await recorder.ensure_durable(recorder.submit([rows.session()], retry=False))
    await recorder.ensure_durable(recorder.submit([rows.session()], retry=False))
    assert store.session("s") is not None


async def test_the_buffer_is_bounded_and_what_does_not_fit_is_counted(path: Path, start: Start) -> None:
    store = HeldStore(path)
    recorder = start(store, capacity_bytes=50_000, durability_wait_s=WAIT_S)
    recorder.offer([rows.session()])
    large = recorder.submit([rows.turn(produced=View.plain(b"x" * 60_000))])
    small = recorder.submit([rows.turn(index=1)])
    assert await recorder.wait_durable(large) is Durable.LOST
    with pytest.raises(NotDurable, match="buffer is full"):
        await recorder.ensure_durable(large)
    store.go.set()
    assert await recorder.wait_durable(small) is Durable.YES
    assert [turn.index for turn in store.turns("s")] == [1]
    assert recorder.state().dropped == 1


async def test_closing_writes_what_is_queued(store: SqliteStore, start: Start) -> None:
    recorder = start(store)
    recorder.offer([rows.session()])
    tickets = [recorder.submit([rows.turn(index=index)]) for index in range(20)]
    assert await recorder.aclose() == 0
    assert len(store.turns("s")) == 20
    assert [await recorder.wait_durable(ticket) for ticket in tickets] == [Durable.YES] * 20
    late = recorder.submit([Reward("s", 1, 1.0)])
    with pytest.raises(NotDurable, match="shutting down"):
        await recorder.ensure_durable(late)


async def test_closing_on_a_store_that_is_down_ends_and_counts_the_loss(path: Path, start: Start) -> None:
    store = SqliteStore(path, busy_timeout_s=0.01)
    with rows.locked(path):
        recorder = start(store)
        await recorder.wait_durable(recorder.submit([rows.session()]))
        assert await recorder.aclose() == 1
        assert recorder.state().queued == 0


SECRET = b"what was said"
TEXT = SECRET.decode()


def _traffic() -> list[Row]:
    view = View((b"[", None, b"]"), Chain(None, SECRET))
    turn = rows.turn(
        fitness=Fitness.FIT,
        received=view,
        sent=view,
        produced=View.plain(SECRET),
        delivered_view=View.plain(SECRET),
        prompt_ids=Chain(None, b"\1\0\0\0"),
        completions=(Completion(0, (7, 8), (-0.5, -0.25), "stop"),),
        usage={"completion_tokens": 2},
        error=TurnFailure(Source.UPSTREAM, "overloaded", TEXT),
        inner=(InnerRound(TEXT, (), Fitness.FIT, {}),),
    )
    return [
        rows.session(),
        turn,
        rows.event(before=TEXT, after=TEXT),
        rows.event(ordinal=1, before=TEXT, after=None, note="withheld: nothing to retry"),
        rows.shown(
            "s", "text:1#0", text=TEXT, decisions=({"operator": "user.typos", "draw": {"swap": [3]}},)
        ),
        Setting("noise", "switch", {"enabled": True}, 1),
    ]


def test_full_is_every_row_as_it_stands() -> None:
    traffic = _traffic()
    assert filter_rows(traffic, Detail.FULL) is traffic


async def test_metadata_keeps_what_was_decided_and_no_content(store: SqliteStore) -> None:
    recorder = Recorder(store, detail=Detail.METADATA)
    recorder.offer(_traffic())
    assert await recorder.flush(30)
    (turn,) = store.turns("s")
    assert (turn.received, turn.sent, turn.produced, turn.delivered_view, turn.prompt_ids) == (None,) * 5
    assert turn.completions == (Completion(0, (), (), "stop"),)
    assert (turn.fitness, turn.inner) == (Fitness.CONTENT_NOT_RECORDED, ())
    assert (turn.error, turn.usage) == (
        TurnFailure(Source.UPSTREAM, "overloaded"),
        {"completion_tokens": 2},
    )
    assert [(event.before, event.after) for event in store.events("s")] == [("", ""), ("", None)]
    (shown,) = store.ledger("s")
    assert shown.text == TEXT, "the next turn has to show it again"
    recorder.offer([SessionClosed("s", 9)])
    await recorder.aclose()
    (shown,) = store.ledger("s")
    assert shown.text is None and shown.decisions[0]["draw"] == {"swap": [3]}
    store.close()
    assert SECRET not in store.path.read_bytes()


async def test_none_writes_no_session_and_keeps_working(store: SqliteStore) -> None:
    recorder = Recorder(store, detail=Detail.NONE)
    assert await recorder.wait_durable(recorder.submit(_traffic()[:-1])) is Durable.YES
    await recorder.ensure_durable(recorder.submit(_traffic()))
    await recorder.aclose()
    counts = dict(store.counts())
    assert counts.pop("settings") == 1
    assert not any(counts.values())
