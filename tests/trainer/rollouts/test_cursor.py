"""A run's place in the store: every group is taken once, whatever happens to it afterwards."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

import orjson

from crosswind.gateway.trajectory.record import Reward, RewardState, SessionClosed, SessionMarked
from crosswind.gateway.trajectory.sqlite import groups
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.trainer.rollouts.cursor import GroupCursor
from tests.gateway.trajectory import rows

NEVER, ALWAYS = 0, 2**62


def take_all(cursor: GroupCursor, store: SqliteStore, stalled_before: int = NEVER) -> list[str]:
    cursor.poll(store)
    ready = cursor.find_ready(stalled_before)
    for group in ready:
        cursor.deal_with(group)
    return [group.name for group in ready]


def reload(cursor: GroupCursor) -> GroupCursor:
    """As a checkpoint keeps it."""
    return GroupCursor.from_json(orjson.loads(orjson.dumps(cursor.to_json())))


def test_groups_are_taken_once_across_checkpoints(store: SqliteStore) -> None:
    store.write([*rows.rollout("a0", "a", 0, 1, at=1), *rows.rollout("b0", "b", 0, 2, at=1)])
    cursor = GroupCursor()
    assert take_all(cursor, store) == ["a"]
    cursor = reload(cursor)
    store.write(rows.rollout("b1", "b", 1, 2, at=2))
    assert take_all(cursor, store) == ["b"], "it waited in the checkpoint"
    # A late session, a reward that comes after all, and a new group.
    store.write([*rows.rollout("a1", "a", 1, 1, at=3), *rows.rollout("c0", "c", 0, 1, at=3)])
    cursor = reload(cursor)
    assert (take_all(cursor, store), take_all(reload(cursor), store)) == (["c"], [])
    assert cursor.to_json()["waiting"] == [] == cursor.to_json()["consumed"]


def test_a_lost_rollout_is_learnt_of_when_its_reward_is_given_up(store: SqliteStore) -> None:
    store.write([*rows.rollout("a0", "a", 0, 2, at=1), *rows.rollout("a1", "a", 1, 2, at=1)[:2]])
    store.write([*rows.rollout("b0", "b", 0, 2, at=1), *rows.rollout("b1", "b", 1, 2, at=1)[:2]])
    cursor = GroupCursor()
    assert take_all(cursor, store) == []
    assert store.expire_rewards(-1.0, limit=1) == 1
    assert take_all(cursor, store) == ["a"]
    store.write([SessionMarked("b1", reward_state=RewardState.NOT_APPLICABLE)])
    assert take_all(cursor, store) == ["b"]


def test_a_group_without_news_is_taken_as_it_is_once_it_has_a_reward(store: SqliteStore) -> None:
    silent = rows.rollout("b0", "b", 0, 2, at=1)
    store.write([*silent[:2], *rows.rollout("a0", "a", 0, 2, at=1)])
    cursor = GroupCursor()
    assert take_all(cursor, store, ALWAYS) == ["a"]
    store.write([Reward("b0", 9, 1.0)])
    assert take_all(reload(cursor), store, ALWAYS) == ["b"]


def test_groups_of_an_interrupted_step_are_not_taken_again(store: SqliteStore) -> None:
    store.write([*rows.rollout("a0", "a", 0, 1, at=1), *rows.rollout("b0", "b", 0, 2, at=1)])
    cursor = GroupCursor()
    cursor.consume(["a", "deleted"])
    assert take_all(reload(cursor), store, ALWAYS) == ["b"]
    cursor.poll(store)
    cursor.consume(["b"])
    assert take_all(cursor, store, ALWAYS) == [] and cursor.consumed == {"deleted"}


def test_a_poll_is_a_search_of_indices(store: SqliteStore) -> None:
    """Whatever the store holds, only the sessions of changed groups are read."""
    with closing(sqlite3.connect(store.path)) as connection:
        plan: list[Any] = connection.execute(f"EXPLAIN QUERY PLAN {groups._GROUPS_SINCE}", (0,)).fetchall()
    steps = [step for *_, step in plan]
    assert any("SEARCH session USING INDEX session_touched" in step for step in steps), steps
    assert not [step for step in steps if step.startswith("SCAN session")], steps


def test_a_first_store_of_this_schema_gets_the_index(store: SqliteStore) -> None:
    store.write([*rows.rollout("a0", "a", 0, 1, at=1), SessionClosed("a0", 5)])
    rows.execute(store.path, "DROP INDEX session_touched")
    with closing(SqliteStore(store.path)) as again:
        assert take_all(GroupCursor(), again) == ["a"]
        found = rows.query(store.path, "SELECT name FROM sqlite_master WHERE name = 'session_touched'")
    assert found == [("session_touched",)]
