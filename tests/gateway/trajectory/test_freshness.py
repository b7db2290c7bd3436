"""What a process learns of a session that others add to."""

from __future__ import annotations

import threading
from contextlib import closing

from crosswind.gateway.trajectory.content import Chain, View
from crosswind.gateway.trajectory.ledger_rows import NameMap
from crosswind.gateway.trajectory.record import (
    SessionClosed,
    SessionDeleted,
    SessionMarked,
    SessionState,
    SessionStatus,
)
from crosswind.gateway.trajectory.sqlite.queries import _STATE
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from tests.gateway.trajectory import rows


def _state(store: SqliteStore, session_id: str = "s") -> SessionState:
    found = store.session_state(session_id)
    assert found is not None
    return found


def test_what_another_process_adds_is_found_and_nothing_else(store: SqliteStore) -> None:
    store.write([rows.session(), rows.turn(), rows.shown("s", "text:a#0")])
    seen = _state(store)
    assert store.turns_since("s", seen.row) == [] and store.ledger_since("s", seen.row) == []
    chain = Chain(Chain(None, b"first"), b"second")
    new = rows.turn(
        index=1, parent=0, branch="b", response_id="r", received=View((b"[", None, b"]"), chain), attempt=2
    )
    noisy = rows.shown("s", "text:b#0", text="noisy", turn_index=1)
    with closing(SqliteStore(store.path)) as other:
        other.write([rows.session("elsewhere"), rows.turn("elsewhere"), rows.shown("elsewhere", "text:a#0")])
        assert _state(store) == seen, "another session's rows are none of its business"
        other.write([new, noisy, NameMap("s", "get", "fetch", 1)])
    now = _state(store)
    assert now.row > seen.row
    (head,) = store.turns_since("s", seen.row)
    assert (head.row, head.index, head.attempt, head.parent, head.branch) == (now.row, 1, 2, 0, "b")
    assert (head.received, head.response_id) == (chain.key, "r")
    assert store.ledger_since("s", seen.row) == [noisy]
    assert [head.index for head in store.turns_since("s", 0)] == [0, 1]
    assert store.ledger_since("s", 0) == store.ledger("s")


def test_turns_come_in_order_of_writing_whatever_their_index(store: SqliteStore) -> None:
    store.write([rows.session(), rows.turn(index=5)])
    seen = _state(store)
    store.write([rows.turn(index=3), rows.turn(index=5, attempt=1)])
    assert [(head.index, head.attempt) for head in store.turns_since("s", seen.row)] == [(3, 0), (5, 1)]


def test_a_state_says_what_befell_the_session(store: SqliteStore) -> None:
    store.write([rows.session()])
    assert _state(store) == SessionState(0, SessionStatus.OPEN, False, None, "{}")
    store.write([SessionMarked("s", noise_stopped=True, quarantine="uncertain"), SessionClosed("s", 5)])
    assert _state(store) == SessionState(0, SessionStatus.CLOSED, True, "uncertain", "{}")
    store.write([SessionDeleted("s")])
    assert store.session_state("s") is None and store.session_state("unknown") is None


def test_rows_keep_their_numbers_when_the_file_is_vacuumed(store: SqliteStore) -> None:
    store.write([rows.session("goes"), *(rows.turn("goes", index=at) for at in range(5))])
    store.write([rows.session(), rows.turn(), rows.turn(index=1), rows.shown("s", "a")])
    store.write([SessionDeleted("goes")])
    before = _state(store), store.turns_since("s", 0)
    rows.execute(store.path, "VACUUM")
    assert (_state(store), store.turns_since("s", 0)) == before


def test_a_look_reads_nothing_that_grows_with_the_session(store: SqliteStore) -> None:
    store.write([rows.session(), rows.turn(), rows.shown("s", "a")])
    plan = [row[3] for row in rows.query(store.path, f"EXPLAIN QUERY PLAN {_STATE}", "s")]
    assert all(step.startswith("SEARCH") or "SUBQUERY" in step for step in plan), plan
    assert sum("turn_session (session=?)" in step for step in plan) == 1


def test_readers_do_not_wait_for_the_writer(store: SqliteStore) -> None:
    store.write([rows.session()])
    writing, go = threading.Event(), threading.Event()

    def write() -> None:
        with store._transaction() as connection:
            connection.execute("UPDATE session SET quarantine = 'soon' WHERE id = 's'")
            writing.set()
            go.wait()

    thread = threading.Thread(target=write)
    thread.start()
    writing.wait()
    try:
        assert store.session("s") == rows.session(), "what is committed is read while a transaction is open"
        assert _state(store).quarantine is None
    finally:
        go.set()
        thread.join()
    assert _state(store).quarantine == "soon"
