"""What every store promises beyond keeping rows: identities, rewards, groups, steps, deletion."""

from __future__ import annotations

import dataclasses

import pytest
from msgspec import structs

from crosswind.gateway.trajectory.content import Chain, View
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
    Turn,
)
from crosswind.gateway.trajectory.store import RowRefused, Store, StoreError
from tests.gateway.trajectory import rows


def test_rows_of_one_identity_are_written_once(store: Store) -> None:
    batch: list[Row] = [
        rows.session(),
        rows.turn(fitness="fit", received=View((b"[", None, b"]"), Chain(None, b"content"))),
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


def test_a_delivery_completes_its_turn(store: Store) -> None:
    store.write([rows.session(), rows.turn(total_us=5), rows.turn(index=1)])
    store.write([Delivery("s", 0, 0, Delivered.UNKNOWN), Delivery("s", 0, 0, Delivered.YES, Durable.LATE, 9)])
    first, second = store.turns("s")
    assert (first.delivered, first.durable, first.total_us) == (Delivered.YES, Durable.LATE, 9)
    assert (second.delivered, second.durable, second.total_us) == (Delivered.UNKNOWN, Durable.YES, None)


def test_rewards_are_appended_and_the_last_to_arrive_counts(store: Store) -> None:
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


def test_marks_and_the_end_of_a_session(store: Store) -> None:
    store.write([rows.session(), SessionMarked("s", quarantine="uncertain identity"), SessionClosed("s", 8)])
    store.write([SessionMarked("s", noise_stopped=True), SessionClosed("s", 9)])
    found = store.session("s")
    assert found and found.quarantine == "uncertain identity" and found.noise_stopped
    assert (found.status, found.closed_us) == (SessionStatus.CLOSED, 8)


def test_a_session_is_unknown_until_it_is_written_and_not_after_its_deletion(store: Store) -> None:
    assert store.is_unknown("s")
    store.write([rows.session("s")])
    assert not store.is_unknown("s") and store.is_unknown("other")
    store.write([SessionDeleted("s")])
    assert not store.is_unknown("s") and store.session("s") is None


def test_sessions_by_group_and_label_newest_first(store: Store) -> None:
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


def test_the_session_of_a_response(store: Store) -> None:
    store.write(
        [rows.session(), rows.turn(response_id="resp-1", kept=True), rows.turn(index=1, response_id="r")]
    )
    assert store.session_of_response("resp-1") == "s"
    assert store.session_of_response("resp-2") is None
    assert store.session_of_response("r") is None, "its provider doesn't keep it"


def complete(store: Store) -> list[str]:
    """The names of the groups whose rollouts have all settled, in the order of their completion."""
    settled = [group for group in store.groups_since(0) if group.settled]
    return [group.name for group in sorted(settled, key=lambda group: group.completed)]


def test_what_happened_since_is_told_by_group(store: Store) -> None:
    """A turn, a correction and a session without a group tell nothing; a reward that won't come does."""
    store.write([*rows.rollout("a0", "a", 0, 2, at=50), *rows.rollout("b0", "b", 0, 1, at=10)])
    first = store.groups_since(0)
    assert [(one.name, one.settled) for one in first] == [("a", False), ("b", True)]
    position = first[-1].touched
    store.write([Reward("a0", 99, 0.0), rows.session("alone")])
    store.write([rows.turn("a0")])
    assert store.groups_since(position) == []
    store.write(rows.rollout("a1", "a", 1, 2, at=60)[:2])
    [second] = store.groups_since(position)
    assert (second.opened, second.settled) == (first[0].opened, False) and second.touched > position
    store.write([SessionMarked("a1", reward_state=RewardState.NOT_APPLICABLE)])
    [third] = store.groups_since(second.touched)
    assert third.settled and third.completed == third.touched > second.touched


def test_sessions_without_a_group_are_told_as_groups_of_one(store: Store) -> None:
    store.write([*rows.rollout("a0", "a", 0, 1, at=50), rows.session("alone"), rows.session("later")])
    first = store.sessions_since(0)
    assert [one.settled for one in first] == [False, False]
    store.write([Reward("alone", 60, 0.5), SessionClosed("alone", 61)])
    [done] = store.sessions_since(first[-1].touched)
    assert done.settled and done.rewarded and done.opened < done.completed == done.touched
    assert [one.session.id for one in store.group(done.name)] == ["alone"]
    store.write([Reward("alone", 99, 0.0), rows.turn("later")])
    assert store.sessions_since(done.touched) == [], "a correction and a turn tell nothing"
    store.write([SessionMarked("later", reward_state=RewardState.NOT_APPLICABLE), SessionClosed("later", 99)])
    [void] = store.sessions_since(done.touched)
    assert void.settled and not void.rewarded


def test_groups_complete_when_all_their_rollouts_are_closed_and_rewarded(store: Store) -> None:
    store.write([*rows.rollout("a0", "a", 0, 2, at=50), *rows.rollout("b0", "b", 0, 2, at=10)])
    assert complete(store) == []
    store.write(rows.rollout("b1", "b", 1, 2, at=70))
    unrewarded = rows.rollout("a1", "a", 1, 2, at=60)
    store.write(unrewarded[:2])
    assert complete(store) == ["b"]
    store.write(unrewarded[2:])
    assert complete(store) == ["b", "a"], "in order of completion, whatever the clock told"
    store.write([Reward("b0", 99, 0.0)])
    assert complete(store) == ["b", "a"], "a correction does not move a group"


def test_a_group_completes_without_the_rollouts_whose_reward_never_came(store: Store) -> None:
    store.write([*rows.rollout("a0", "a", 0, 2, at=50), *rows.rollout("a1", "a", 1, 2, at=60)[:2]])
    assert complete(store) == [], "it may still be rewarded"
    store.write([SessionMarked("a1", reward_state=RewardState.EXPIRED)])
    assert complete(store) == ["a"]
    # Opened again after the first was lost: the second one is waited for.
    store.write(rows.rollout("b0", "b", 0, 1, at=10)[:2])
    store.write(
        [SessionMarked("b0", reward_state=RewardState.EXPIRED), rows.rollout("b0-again", "b", 0, 1, at=95)[0]]
    )
    assert complete(store) == ["a"]


def test_a_group_with_a_reward_is_told_from_one_without(store: Store) -> None:
    store.write([*rows.rollout("a0", "a", 0, 3, at=50), rows.rollout("a1", "a", 1, 3, at=60)[0]])
    store.write([rows.rollout("never", "b", 0, 3, at=60)[0]])
    assert complete(store) == []
    assert [(one.name, one.rewarded) for one in store.groups_since(0)] == [("a", True), ("b", False)]


def test_a_rollout_that_was_opened_again_counts_once(store: Store) -> None:
    store.write([*rows.rollout("x", "g", 0, 2, at=5), *rows.rollout("y", "g", 0, 2, at=6)])
    assert complete(store) == []
    given_up = rows.session("given up", group_id="g", group_size=2, rollout_index=1)
    store.write([given_up, *rows.rollout("z", "g", 1, 2, at=7)])
    assert complete(store) == ["g"]


def test_groups_of_two_tenants_with_one_id_are_two(store: Store) -> None:
    """One of them may even open the group before the other does, and be deleted."""
    store.write([rows.session("x", tenant="a", group_id="g", group_size=2, rollout_index=0)])
    ours = [*rows.rollout("u0", "g", 0, 2, at=5), *rows.rollout("u1", "g", 1, 2, at=6)]
    store.write([rows.session("y", tenant="default", group_id="h", group_size=9, rollout_index=0)])
    store.write([structs.replace(one, tenant="b") if isinstance(one, Session) else one for one in ours])
    [name] = complete(store)
    assert [one.session.id for one in store.group(name)] == ["u0", "u1"] and name != "g"
    assert [one.session.id for one in store.group("g")] == ["x"], "a group's first tenant has its bare id"
    store.write([SessionClosed("x", 7), Reward("x", 7, 1.0)])
    assert complete(store) == [name], "a rollout of another tenant completes no group"
    store.write([SessionDeleted("x")])
    assert complete(store) == ["g"] and len(store.group("g")) == len(store.group(name)) == 2
    assert [one.key for one in store.groups_since(0) if one.settled] == [name], "it is known by one key"


def test_a_group_without_a_tenant_is_that_of_the_default_one(store: Store) -> None:
    later = rows.session("b", tenant="default", group_id="g", group_size=2, rollout_index=1)
    store.write([*rows.rollout("a", "g", 0, 2, at=5), later, SessionClosed("b", 6), Reward("b", 6, 1.0)])
    assert complete(store) == ["g"] and len(store.group("g")) == 2


def test_a_group_comes_by_rollout_index_with_turns_and_events(store: Store) -> None:
    store.write([*rows.rollout("late", "g", 0, 2, at=9), *rows.rollout("early", "g", 1, 2, at=5)])
    store.write([rows.turn("early"), rows.event("early")])
    found = store.group("g")
    assert [one.session.id for one in found] == ["late", "early"]
    assert (found[1].turns, found[1].events) == ((rows.turn("early"),), (rows.event("early"),))
    assert store.group("unknown") == [] and store.trajectory("unknown") is None


def test_a_step_is_planned_once_and_then_completed(store: Store) -> None:
    planned = TrainStep("run", 3, ("g1", "g2"), {"sampling": 7}, 11, rewards={"s": 0.5})
    store.plan_step(planned)
    store.plan_step(dataclasses.replace(planned, group_ids=("g9",)))
    assert store.steps("run") == [planned]
    done = dataclasses.replace(planned, policy_version="v4", metrics={"loss": 0.25}, completed_us=12)
    store.complete_step(done)
    assert store.steps("run") == [done]
    with pytest.raises(StoreError, match="step 4 of run 'run' was never planned"):
        store.complete_step(dataclasses.replace(done, step=4))


def test_the_latest_setting_counts(store: Store) -> None:
    store.write(
        [Setting("curriculum", "main", {"version": 1}, 1), Setting("curriculum", "main", {"version": 2}, 2)]
    )
    assert store.settings("curriculum") == [Setting("curriculum", "main", {"version": 2}, 2)]
    assert store.setting("curriculum", "other") is None


def test_no_turn_refers_to_one_whose_write_was_rolled_back(store: Store) -> None:
    def turn(index: int, *texts: bytes) -> Turn:
        chain = None
        for text in texts:
            chain = Chain(chain, text)
        return rows.turn(index=index, sent=View((b"[", None, b"]"), chain))

    first, second = turn(0, b"first"), turn(1, b"first", b"second")
    store.write([rows.session()])
    with pytest.raises(RowRefused, match=r"no session 'unknown'; its Session row must be written first"):
        store.write([first, rows.event("unknown")])
    with pytest.raises(RowRefused):
        store.write([turn(0, b"first"), rows.turn(index=7, queue_us=2**63)])
    store.write([second])
    assert store.turns("s") == [second]


def test_ledger_rows_need_their_turn(store: Store) -> None:
    store.write([rows.session(), rows.session("other")])
    with pytest.raises(RowRefused, match="need a turn"):
        store.write([rows.shown("s", "a")])
    with pytest.raises(RowRefused, match="needs a turn"):
        store.write([rows.turn("other"), rows.shown("s", "a")])
