from __future__ import annotations

from threading import Event

import pytest

from crosswind.gateway.trajectory.record import Reward, RewardState, SessionClosed, SessionMarked
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.trainer.config.settings import configure
from crosswind.trainer.rollouts.assembly import assemble_batch
from crosswind.trainer.rollouts.cursor import GroupCursor
from crosswind.trainer.rollouts.source import GroupSource, NoGroups, TakenGroups
from tests.trainer.practice import CLOCK, FIRST, session
from tests.trainer.rollouts.group_rows import ADMISSION, fit_turn, put


def take(source: GroupSource, wanted: int) -> TakenGroups:
    taken = source.take(wanted, ADMISSION, Event())
    assert taken is not None
    return taken


def ids(taken: TakenGroups) -> list[str]:
    return [group.id for group in taken.groups]


def test_groups_are_taken_in_the_order_of_their_completion_and_once(store: SqliteStore) -> None:
    for name in ("c", "a", "b"):
        put(store, name, [1.0, 0.0])
    source = GroupSource(store, {}, poll_seconds=0.001)
    assert ids(take(source, 2)) == ["c", "a"]
    assert ids(take(source, 1)) == ["b"]


def test_evaluations_and_foreign_labels_are_passed_over(store: SqliteStore) -> None:
    put(store, "eval", [1.0, 0.0], labels={"purpose": "eval"})
    put(store, "theirs", [1.0, 0.0], labels={"purpose": "train", "run": "theirs"})
    put(store, "ours", [1.0, 0.0], labels={"purpose": "train", "run": "ours"})
    taken = take(GroupSource(store, {"run": "ours"}), 1)
    assert (ids(taken), taken.reasons) == (["ours"], {})


def test_labels_that_are_no_texts_are_named_as_json_writes_them(store: SqliteStore) -> None:
    put(store, "ours", [1.0, 0.0], labels={"stage": 2, "warm": True, "after": None})
    put(store, "later", [1.0, 0.0], labels={"stage": 3, "warm": True, "after": None})
    named = {"stage": "2", "warm": "true", "after": "null"}
    assert ids(take(GroupSource(store, named), 1)) == ["ours"]
    with pytest.raises(NoGroups):
        GroupSource(store, {"missing": "null"}).take(1, ADMISSION, Event(), wait_seconds=0.01)


def test_a_lost_rollout_does_not_lose_its_group(store: SqliteStore) -> None:
    """One whose reward expired, and one that was never opened; both are counted."""
    put(store, "g", [1.0, 0.0, 0.0, 1.0])
    lost = [session("g2", index, 4, labels={"purpose": "train"}) for index in range(3)]
    for index, opened in enumerate(lost):
        store.write([opened, fit_turn(opened.id), SessionClosed(opened.id, next(CLOCK))])
        if index < 2:
            store.write([Reward(opened.id, next(CLOCK), float(index))])
    store.write([SessionMarked(lost[2].id, reward_state=RewardState.EXPIRED)])
    assert ids(take(GroupSource(store, {}), 1)) == ["g"], "a rollout of g2 may still be opened"
    patient = GroupSource(store, {}, group_deadline=3600)
    assert ids(take(patient, 1)) == ["g"]
    with pytest.raises(NoGroups):
        patient.take(1, ADMISSION, Event(), wait_seconds=0.01)
    taken = take(GroupSource(store, {}, patient.cursor, group_deadline=1e-6), 1)
    assert ids(taken) == ["g2"]
    assert taken.groups[0].rewards == [0.0, 1.0] and taken.groups[0].trainable == [0, 1]
    assert sorted(taken.groups[0].left_out) == ["never_opened", "reward_expired"]


def test_a_group_waits_for_the_events_of_its_tool_legs(store: SqliteStore) -> None:
    put(store, "g", [1.0, 0.0])
    put(store, "of-a-leg", [1.0, 0.0])
    late = store.group("of-a-leg")[0].session.id
    store.write([SessionMarked(late, labels={"crosswind.leg.a1": "open"})])
    source = GroupSource(store, {}, poll_seconds=0.01, leg_deadline=1e9)
    assert ids(take(source, 1)) == ["g"]
    with pytest.raises(NoGroups):
        source.take(1, ADMISSION, Event(), wait_seconds=0.01)
    impatient = GroupSource(store, {}, GroupCursor.from_json(source.cursor.to_json()), leg_deadline=0)
    assert ids(take(impatient, 1)) == ["of-a-leg"]
    store.write([SessionMarked(late, labels={"crosswind.leg.a1": "ended"})])
    assert ids(take(source, 1)) == ["of-a-leg"]


def test_a_group_without_a_rollout_that_trains_is_dropped_and_counted(store: SqliteStore) -> None:
    put(
        store,
        "old",
        [1.0, 0.0],
        turns={index: [fit_turn(f"old-{index}", version=FIRST)] for index in range(2)},
    )
    put(store, "new", [1.0, 0.0])
    taken = take(GroupSource(store, {}), 1)
    assert (taken.reasons, ids(taken)) == ({"stale": 1}, ["new"])


def test_waiting_ends_when_told_to_or_after_the_time_given(store: SqliteStore) -> None:
    source = GroupSource(store, {}, poll_seconds=0.001)
    (stop := Event()).set()
    assert source.take(1, ADMISSION, stop) is None
    with pytest.raises(NoGroups, match=r"no group completed for 0.01 s \(0 of 1 are there\)"):
        source.take(1, ADMISSION, Event(), wait_seconds=0.01)


def test_groups_with_equal_rewards_are_refilled_up_to_a_bound(store: SqliteStore) -> None:
    for number, rewards in enumerate([[1.0, 1.0], [1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [0.5, 0.0]]):
        put(store, f"g{number}", rewards)
    source = GroupSource(store, {}, poll_seconds=0.01)
    refilled = source.take(2, ADMISSION, Event(), most=6, wait_seconds=5)
    assert refilled is not None and [group.id for group in refilled.groups] == ["g0", "g1", "g2", "g3"]
    again = GroupSource(store, {}, poll_seconds=0.01)
    bounded = again.take(2, ADMISSION, Event(), most=3, wait_seconds=5)
    assert bounded is not None and [group.id for group in bounded.groups] == ["g0", "g1", "g2"]

    scales = {}
    for refill in ("off", "groups"):
        config = configure("demo", {"refill": refill, "optimiser.mini_batches": 1})
        batch = assemble_batch(refilled.groups, config, "third", "seed")
        assert batch.filtered_groups == 2
        scales[refill] = batch.mini_batches[0].scale.rollouts
    assert scales == {"off": 8, "groups": 4}, "the mean is over the groups that were taken instead"
