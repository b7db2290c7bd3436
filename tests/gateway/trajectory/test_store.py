"""What the store promises beyond keeping rows: identities, rewards, groups, steps, deletion, size."""

from __future__ import annotations

import dataclasses
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
    Durable,
    Reward,
    RewardState,
    Row,
    Session,
    SessionClosed,
    SessionDeleted,
    SessionMarked,
    SessionStatus,
    Setting,
    TrainStep,
)
from crosswind.gateway.trajectory.sqlite.segments import KnownFrames
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.gateway.trajectory.store import RowRefused, StoreError, StoreUnavailable
from tests.gateway.trajectory import rows


def test_rows_of_one_identity_are_written_once(store: SqliteStore) -> None:
    batch: list[Row] = [
        rows.session(),
        rows.turn(fitness="fit"),
        rows.event(),
        rows.shown("s", "text:a#0", text="noisy"),
        Reward("s", 5, 1.0, {"task": 1.0}, "judge"),
    ]
    store.write(batch)
    before = store.trajectory("s"), store.ledger("s"), store.rewards("s"), store.counts()
    store.write(batch)
    store.write(
        [rows.turn(fitness="changed"), rows.shown("s", "text:a#0", text="other"), rows.session(arm="noisy")]
    )
    assert (store.trajectory("s"), store.ledger("s"), store.rewards("s"), store.counts()) == before


def test_a_delivery_completes_its_turn(store: SqliteStore) -> None:
    store.write([rows.session(), rows.turn(total_us=5), rows.turn(index=1)])
    store.write([Delivery("s", 0, 0, Delivered.UNKNOWN), Delivery("s", 0, 0, Delivered.YES, Durable.LATE, 9)])
    first, second = store.turns("s")
    assert (first.delivered, first.durable, first.total_us) == (Delivered.YES, Durable.LATE, 9)
    assert (second.delivered, second.durable, second.total_us) == (Delivered.UNKNOWN, Durable.YES, None)


def test_rewards_are_appended_and_the_last_to_arrive_counts(store: SqliteStore) -> None:
    early, late = Reward("s", 20, 1.0, {}, "agent"), Reward("s", 10, 0.5, {"task": 0.5}, "judge")
    store.write([rows.session()])
    assert (store.session("s") or rows.session()).reward_state is RewardState.PENDING
    store.write([SessionMarked("s", reward_state=RewardState.EXPIRED)])
    # The clock was set back between them.
    store.write([early, late, SessionMarked("s", reward_state=RewardState.EXPIRED)])
    found = store.session("s")
    assert found and (found.reward, found.reward_source, found.reward_components) == (
        0.5,
        "judge",
        {"task": 0.5},
    )
    assert found.reward_state is RewardState.GIVEN
    assert store.rewards("s") == [early, late]
    store.write([early])
    assert store.rewards("s") == [late, early], "it came again, at a time that the clock has told before"
    assert (store.session("s") or rows.session()).reward == 1.0


def test_marks_and_the_end_of_a_session(store: SqliteStore) -> None:
    store.write([rows.session(), SessionMarked("s", quarantine="uncertain identity"), SessionClosed("s", 8)])
    store.write([SessionMarked("s", noise_stopped=True), SessionClosed("s", 9)])
    found = store.session("s")
    assert found and found.quarantine == "uncertain identity" and found.noise_stopped
    assert (found.status, found.closed_us) == (SessionStatus.CLOSED, 8)


def test_sessions_by_group_and_label_newest_first(store: SqliteStore) -> None:
    store.write(
        [
            rows.session("a", created_us=1, labels={"purpose": "train"}, group_id="g"),
            rows.session("b", created_us=2, labels={"purpose": "eval", 'it\'s "odd".$': "x"}),
            rows.session("c", created_us=3, labels={"purpose": "train", "n": 3}),
        ]
    )
    assert [one.id for one in store.sessions()] == ["c", "b", "a"]
    assert [one.id for one in store.sessions(limit=1, offset=1)] == ["b"]
    assert [one.id for one in store.sessions(group_id="g")] == ["a"]
    assert [one.id for one in store.sessions(label={"purpose": "train"})] == ["c", "a"]
    assert [one.id for one in store.sessions(label={"purpose": "eval", 'it\'s "odd".$': "x"})] == ["b"]
    assert store.sessions(label={"purpose": "train"}, group_id="other") == []


def test_the_session_of_a_response(store: SqliteStore) -> None:
    store.write([rows.session(), rows.turn(response_id="chatcmpl-1")])
    assert store.session_of_response("chatcmpl-1") == "s"
    assert store.session_of_response("chatcmpl-2") is None


def test_groups_complete_when_all_their_rollouts_are_closed_and_rewarded(store: SqliteStore) -> None:
    store.write([*rows.rollout("a0", "a", 0, 2, at=50), *rows.rollout("b0", "b", 0, 2, at=10)])
    assert store.completed_groups() == []
    store.write(rows.rollout("b1", "b", 1, 2, at=70))
    unrewarded = rows.rollout("a1", "a", 1, 2, at=60)
    store.write(unrewarded[:2])
    assert store.completed_groups() == ["b"]
    store.write(unrewarded[2:])
    assert store.completed_groups() == ["b", "a"], "in order of completion, whatever the clock told"
    store.write([Reward("b0", 99, 0.0)])
    assert store.completed_groups() == ["b", "a"], "a correction does not move a group"
    assert store.completed_groups(limit=1) == ["b"]
    assert store.completed_groups(exclude=frozenset({"b"})) == ["a"]


def test_a_rollout_that_was_opened_again_counts_once(store: SqliteStore) -> None:
    store.write([*rows.rollout("x", "g", 0, 2, at=5), *rows.rollout("y", "g", 0, 2, at=6)])
    assert store.completed_groups() == []
    given_up = rows.session("given up", group_id="g", group_size=2, rollout_index=1)
    store.write([given_up, *rows.rollout("z", "g", 1, 2, at=7)])
    assert store.completed_groups() == ["g"]


def test_groups_of_two_tenants_with_one_id_are_two(store: SqliteStore) -> None:
    """One of them may even open the group before the other does, and be deleted."""
    store.write([rows.session("x", tenant="a", group_id="g", group_size=2, rollout_index=0)])
    ours = [*rows.rollout("u0", "g", 0, 2, at=5), *rows.rollout("u1", "g", 1, 2, at=6)]
    store.write([rows.session("y", tenant="default", group_id="h", group_size=9, rollout_index=0)])
    store.write([structs.replace(one, tenant="b") if isinstance(one, Session) else one for one in ours])
    [name] = store.completed_groups()
    assert [one.session.id for one in store.group(name)] == ["u0", "u1"] and name != "g"
    assert [one.session.id for one in store.group("g")] == ["x"], "a group's first tenant has its bare id"
    store.write([SessionClosed("x", 7), Reward("x", 7, 1.0)])
    assert store.completed_groups() == [name], "a rollout of another tenant completes no group"
    store.write([SessionDeleted("x")])
    assert store.completed_groups() == ["g"] and len(store.group("g")) == len(store.group(name)) == 2
    assert store.completed_groups(exclude=frozenset({name})) == [], "no group is taken under two names"


def test_a_group_without_a_tenant_is_that_of_the_default_one(store: SqliteStore) -> None:
    later = rows.session("b", tenant="default", group_id="g", group_size=2, rollout_index=1)
    store.write([*rows.rollout("a", "g", 0, 2, at=5), later, SessionClosed("b", 6), Reward("b", 6, 1.0)])
    assert store.completed_groups() == ["g"] and len(store.group("g")) == 2


def test_a_group_comes_by_rollout_index_with_turns_and_events(store: SqliteStore) -> None:
    store.write([*rows.rollout("late", "g", 0, 2, at=9), *rows.rollout("early", "g", 1, 2, at=5)])
    store.write([rows.turn("early"), rows.event("early")])
    found = store.group("g")
    assert [one.session.id for one in found] == ["late", "early"]
    assert (found[1].turns, found[1].events) == ((rows.turn("early"),), (rows.event("early"),))
    assert store.group("unknown") == [] and store.trajectory("unknown") is None


def test_a_step_is_planned_once_and_then_completed(store: SqliteStore) -> None:
    planned = TrainStep("run", 3, ("g1", "g2"), {"sampling": 7}, 11)
    store.plan_step(planned)
    store.plan_step(dataclasses.replace(planned, group_ids=("g9",)))
    assert store.steps("run") == [planned]
    done = dataclasses.replace(planned, policy_version="v4", metrics={"loss": 0.25}, completed_us=12)
    store.complete_step(done)
    assert store.steps("run") == [done]
    with pytest.raises(StoreError, match="step 4 of run 'run' was never planned"):
        store.complete_step(dataclasses.replace(done, step=4))


def test_the_latest_setting_counts(store: SqliteStore) -> None:
    store.write(
        [Setting("curriculum", "main", {"version": 1}, 1), Setting("curriculum", "main", {"version": 2}, 2)]
    )
    assert store.settings("curriculum") == [Setting("curriculum", "main", {"version": 2}, 2)]
    assert store.setting("curriculum", "other") is None


def test_a_write_that_was_rolled_back_leaves_no_node_marked_as_stored(store: SqliteStore) -> None:
    chain = Chain(Chain(None, b"first"), b"second")
    sent = rows.turn(sent=View((b"[", None, b"]"), chain))
    with pytest.raises(RowRefused, match=r"no session 'unknown'; its Session row must be written first"):
        store.write([rows.session(), sent, rows.event("unknown")])
    assert not any(node.stored for node in chain.nodes())
    store.write([rows.session(), sent])
    assert all(node.stored for node in chain.nodes())
    assert store.turns("s") == [sent]


def test_chains_known_to_one_store_can_be_written_to_another(store: SqliteStore, tmp_path: Path) -> None:
    sent = rows.turn(sent=View((None,), Chain(Chain(None, b"a"), b"b")))
    store.write([rows.session(), sent])
    with closing(SqliteStore(tmp_path / "other.db")) as other:
        other.write([rows.session(), sent])
        assert other.turns("s") == [sent]


def test_a_deleted_session_goes_with_its_rows_and_content_that_nobody_else_has(store: SqliteStore) -> None:
    shared = Chain(None, b"system prompt")

    def batch(name: str) -> list[Row]:
        body = View((b"frame ", None), Chain(shared, name.encode()))
        turn = rows.turn(name, received=body, sent=body, produced=View.plain(b"answer of " + name.encode()))
        return [rows.session(name), turn, rows.event(name), rows.shown(name, "a"), Reward(name, 1, 1.0)]

    store.write([*batch("stays"), *batch("goes")])
    store.write([SessionDeleted("goes")])
    assert rows.sweep_all(store, 1)
    assert store.session("goes") is None and store.turns("goes") == [] and store.ledger("goes") == []
    assert store.turns("stays") == [batch("stays")[1]]
    assert not rows.sweep_all(store, 1)
    assert b"answer of goes" not in _everything_on_disk(store)


def test_erased_ledger_texts_leave_the_decisions(store: SqliteStore) -> None:
    noisy = rows.shown("s", "a", text="noisy text", decisions=({"operator": "user.typos"},))
    store.write([rows.session(), noisy, LedgerTextsErased("s")])
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


def test_the_memory_of_frames_keeps_to_its_capacity_however_small_they_are() -> None:
    tracemalloc.start()
    try:
        known = KnownFrames(1 << 20)
        before, _ = tracemalloc.get_traced_memory()
        for number in range(10_000):
            known.add(f"session-{number}", number, [((b"%d" % number, None), b"key %d" % number)])
        assert tracemalloc.get_traced_memory()[0] - before < 2 << 20
    finally:
        tracemalloc.stop()
    assert known.find("session-9999", (b"9999", None)) == (9999, b"key 9999")
