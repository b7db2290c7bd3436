"""What the SQLite store promises of its file: deletion, size, locks, several processes."""

from __future__ import annotations

import os
import tracemalloc
from contextlib import closing
from pathlib import Path

import pytest
from msgspec import structs

from crosswind.gateway.trajectory.content import Chain, View
from crosswind.gateway.trajectory.ledger_rows import LedgerTextsErased
from crosswind.gateway.trajectory.record import (
    Delivered,
    Delivery,
    Reward,
    Row,
    SessionDeleted,
    Turn,
)
from crosswind.gateway.trajectory.session_content import SessionContent
from crosswind.gateway.trajectory.sqlite.known_sessions import KnownSessions
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.gateway.trajectory.store import StoreError, StoreUnavailable
from crosswind.gateway.trajectory.turn_body import RECEIVED
from tests.gateway.trajectory import rows


def test_a_known_turn_is_no_basis_for_others(store: SqliteStore) -> None:
    """Two processes gave one place to two turns: the second one's content isn't there."""
    other = SqliteStore(store.path)

    def turn(index: int, chain: Chain) -> Turn:
        return rows.turn(index=index, received=View((b"[", None, b"]"), chain))

    theirs, ours = Chain(None, b"theirs"), Chain(None, b"ours")
    other.write([rows.session(), turn(0, theirs)])
    following = turn(1, Chain(ours, b"more"))
    store.write([turn(0, ours), following])
    store.write([turn(2, Chain(ours, b"again"))])
    assert store.turns("s")[:2] == [turn(0, theirs), following]
    assert store.check().whole
    other.close()


@pytest.mark.parametrize("size", [2, 20])
def test_a_group_is_read_in_as_many_statements_whatever_its_size(store: SqliteStore, size: int) -> None:
    for index in range(size):
        name = f"s{index}"
        noisy = structs.replace(rows.rollout(name, "g", index, size, at=9)[0], arm="noisy")
        chain = Chain(Chain(None, b"prompt"), name.encode())
        later = rows.turn(name, index=1, received=View((b"[", None, b"]"), chain))
        store.write([noisy, rows.turn(name), rows.shown(name, "a"), later, rows.event(name)])
    store.group("g")  # connects
    (reader,) = store._readers.idle
    said: list[str] = []
    reader.set_trace_callback(said.append)
    found = store.group("g")
    reader.set_trace_callback(None)
    assert len([each for each in said if not each.startswith("--")]) <= 7, said
    assert found == [store.trajectory(f"s{index}") for index in range(size)]
    assert all(len(one.turns) == 2 and len(one.events) == 1 and one.items for one in found)


def test_a_group_of_more_sessions_than_a_statement_takes_values(store: SqliteStore) -> None:
    names = [f"s{index}" for index in range(33_000)]
    store.write([rows.session(name, group_id="g") for name in names])
    assert [one.session.id for one in store.group("g")] == names


def test_a_group_is_read_in_one_state_while_others_delete_and_write(store: SqliteStore, path: Path) -> None:
    for index in range(3):
        store.write([*rows.rollout(f"s{index}", "g", index, 3, at=9), *rows.talk(f"s{index}", 3)[1:]])
    states = [store.group("g")]
    changes: list[Row] = [SessionDeleted("s1"), rows.turn("s2", index=9), SessionDeleted("s0")]
    (reader,) = store._readers.idle
    with closing(SqliteStore(path)) as other:

        def change(statement: str) -> None:
            """Write something before each statement of the reader."""
            if changes and statement.startswith("SELECT"):
                other.write([changes.pop(0)])
                states.append(other.group("g"))

        reader.set_trace_callback(change)
        found = store.group("g")
        reader.set_trace_callback(None)
    assert not changes
    assert found in states[:2], "what came after the first statement isn't seen"
    assert store.group("g") == states[-1]


def test_chains_known_to_one_store_can_be_written_to_another(store: SqliteStore, tmp_path: Path) -> None:
    sent = rows.turn(sent=View((None,), Chain(Chain(None, b"a"), b"b")))
    store.write([rows.session(), sent])
    with closing(SqliteStore(tmp_path / "other.db")) as other:
        other.write([rows.session(), sent])
        assert other.turns("s") == [sent]


def test_a_deleted_session_goes_with_its_rows_and_content(store: SqliteStore) -> None:
    shared = Chain(None, b"system prompt")

    def batch(name: str) -> list[Row]:
        body = View((b"frame ", None), Chain(shared, name.encode()))
        turn = rows.turn(name, received=body, sent=body, produced=View.plain(b"answer of " + name.encode()))
        return [rows.session(name), turn, rows.event(name), rows.shown(name, "a"), Reward(name, 1, 1.0)]

    store.write([*batch("stays"), *batch("goes")])
    store.write([SessionDeleted("goes")])
    assert store.session("goes") is None and store.turns("goes") == [] and store.ledger("goes") == []
    assert store.turns("stays") == [batch("stays")[1]]
    assert not rows.sweep_all(store)
    assert b"answer of goes" not in _everything_on_disk(store)


def test_erased_ledger_texts_leave_the_decisions(store: SqliteStore) -> None:
    noisy = rows.shown("s", "a", text="noisy text", decisions=({"operator": "user.typos"},))
    store.write([rows.session(), rows.turn(), noisy, LedgerTextsErased("s")])
    assert store.ledger("s") == [structs.replace(noisy, text=None)]
    assert b"noisy text" not in _everything_on_disk(store)


def _everything_on_disk(store: SqliteStore) -> bytes:
    rows.execute(store.path, "PRAGMA wal_checkpoint(TRUNCATE)")
    return store.path.read_bytes()


def test_storage_grows_with_the_length_of_a_conversation(tmp_path: Path) -> None:
    def bytes_per_turn(length: int) -> float:
        store = SqliteStore(tmp_path / f"{length}.db")
        store.write([rows.session()])
        empty = len(_everything_on_disk(store))
        received = sent = prompt = None
        for index in range(length):
            received, sent = Chain(received, os.urandom(1000)), Chain(sent, os.urandom(1000))
            prompt = Chain(prompt, os.urandom(800))
            frame = (b'{"model":"m","messages":[', None, b"]}")
            turn = rows.turn(
                index=index, received=View(frame, received), sent=View(frame, sent), prompt_ids=prompt
            )
            store.write([turn])
        found = store.turns("s")[-1]
        assert (
            found.sent
            and sent
            and found.sent.bytes() == b"".join((b'{"model":"m","messages":[', sent.bytes(), b"]}"))
        )
        grown = len(_everything_on_disk(store)) - empty
        store.close()
        return grown / length

    short, long = bytes_per_turn(40), bytes_per_turn(400)
    assert long < min(1.1 * short, 2 * 2800), "at most twice what a turn brings"


def test_a_lock_held_by_another_process_is_waited_for_and_then_named(path: Path) -> None:
    with closing(SqliteStore(path, busy_timeout_s=0.05)) as store:
        with rows.locked(path):
            with pytest.raises(StoreUnavailable, match=r"holds the write lock.*busy_timeout_s"):
                store.write([rows.session()])
            assert store.session("s") is None, "readers do not wait for the writer"
        store.write([rows.session()])
        assert store.session("s")


def test_a_closed_store_says_so(path: Path) -> None:
    store = SqliteStore(path)
    store.session("s")
    store.close()
    store.close()
    with pytest.raises(StoreError, match="is closed"):
        store.write([rows.session()])
    with pytest.raises(StoreError, match="is closed"):
        store.session("s")


def test_the_memory_of_sessions_keeps_to_its_capacity_however_short_they_are() -> None:
    tracemalloc.start()
    try:
        known = KnownSessions(1 << 20)
        before, _ = tracemalloc.get_traced_memory()
        for number in range(10_000):
            content = SessionContent(number)
            content.view(View((b"%d" % number, None), Chain(None, b"%d" % number)), (0, 0, RECEIVED))
            known.remember(f"session-{number}", content, 1)
        assert tracemalloc.get_traced_memory()[0] - before < 2 << 20
    finally:
        tracemalloc.stop()
    assert known.take("session-1", 1) is None and known.take("session-9999", 9999) is not None


def test_numbers_and_deletions_are_known_whoever_opens_sessions(store: SqliteStore, path: Path) -> None:
    with closing(SqliteStore(path)) as other:
        store.write([rows.session("a")])
        store.write([rows.session("b")])
        other.write([rows.session("c"), rows.session("d")])
        store.write([rows.session("e")])
        other.write([SessionDeleted("e")])
        store.write([rows.session("f")])
        for one, name in ((store, "e"), (other, "e")):
            with pytest.raises(StoreError, match="'e' was deleted"):
                one.write([rows.session(name)])
        store.write([SessionDeleted("f")])
        with pytest.raises(StoreError, match="'f' was deleted"):
            store.write([rows.session("f")])
        store.write([rows.session("g"), rows.session("h", task_id="t")])
        other.write([rows.session("i")])
    opened = rows.query(path, "SELECT id FROM session ORDER BY number")
    assert [name for (name,) in opened] == ["a", "b", "c", "d", "g", "h", "i"]


def test_a_delivery_finds_its_turn_whichever_was_written_last(store: SqliteStore, path: Path) -> None:
    def deliver(index: int, attempt: int = 0) -> Delivery:
        return Delivery("s", index, attempt, Delivered.YES, None, 100 + index + attempt)

    with closing(SqliteStore(path)) as other:
        store.write([rows.session(), rows.session("t"), rows.turn()])
        store.write([deliver(0), rows.turn(index=1), rows.turn("t"), rows.turn(index=2)])
        store.write([deliver(1), rows.turn(index=2, attempt=1)])
        other.write([rows.turn(index=3), deliver(2)])
        store.write([deliver(3), deliver(2, attempt=1)])
        store.write([rows.turn("t"), rows.turn(index=4)])  # one of them is written again
        store.write([deliver(4)])
        store.write([deliver(4)])
    assert [(turn.index, turn.total_us) for turn in store.turns("s")] == [
        (0, 100),
        (1, 101),
        (2, 102),
        (2, 103),
        (3, 103),
        (4, 104),
    ]
    assert [turn.delivered for turn in store.turns("t")] == [Delivered.UNKNOWN]
