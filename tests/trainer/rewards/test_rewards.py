"""Rewards of recorded trajectories, by hand; and that a run trains on them and keeps them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from crosswind.gateway.trajectory.content import View
from crosswind.gateway.trajectory.record import RewardState, Trajectory
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.policies.versions.version import read_version
from crosswind.trainer import registry
from crosswind.trainer.learning import model
from crosswind.trainer.rewards import reward
from crosswind.trainer.rewards.reward import UnknownReward, resolve_reward, rewards
from crosswind.trainer.rewards.toolrl import score_calls
from crosswind.trainer.run.loop import train
from tests.trainer.practice import make_run, play, session, settings, turn

TOOLS = [
    {
        "type": "function",
        "function": {"name": "book", "parameters": {"required": ["room"], "properties": {"room": {}}}},
    },
    {"type": "function", "function": {"name": "list_rooms", "parameters": {}}},
]


def trajectory(answers: Sequence[Sequence[tuple[str, str]]], given: float = 1.0, **labels: Any) -> Trajectory:
    """A session with these calls, a list of names and arguments for each of its turns."""
    opened = structs.replace(session("g", 0, 1), reward=given, reward_state=RewardState.GIVEN, labels=labels)
    turns = []
    for index, calls in enumerate(answers):
        called = [{"id": "c", "type": "function", "function": {"name": n, "arguments": a}} for n, a in calls]
        said = {"role": "assistant", "content": None, "tool_calls": called}
        made = turn(opened.id, index, [1], NOTHING)
        sent = View.plain(json.dumps({"messages": [], "tools": TOOLS}).encode())
        produced = View.plain(json.dumps({"choices": [{"message": said}]}).encode())
        turns.append(structs.replace(made, sent=sent, produced=produced))
    return Trajectory(opened, tuple(turns), ())


NOTHING: Any = None


@pytest.mark.parametrize(
    ("calls", "value"),
    [
        ([("book", '{"room": 3}'), ("list_rooms", "{}")], 10.0),
        ([("book", "{}")], 9.9),
        ([("cancel", "{}"), ("book", "[3]"), ("book", "{")], 9.7),
    ],
)
def test_state_augmentation_pays_success_less_invalid_actions(
    calls: list[tuple[str, str]], value: float
) -> None:
    assert resolve_reward("state_augmentation")(trajectory([calls])) == pytest.approx(value)
    failed = resolve_reward("state_augmentation")(trajectory([calls, []], given=0.5))
    assert failed == pytest.approx(value - 10.0)


REFERENCE = [{"name": "book", "arguments": {"room": 3, "nights": 2}}]


@pytest.mark.parametrize(
    ("calls", "value"),
    [
        ([("book", '{"nights": 2, "room": 3}')], 4.0),
        # The name (1), its keys (1) and one of two values, of 4 in all: 6 * 3/4 - 3, and the form.
        ([("book", '{"nights": 9, "room": 3}')], 2.5),
        # Names overlap by a half; keys by a half, with one value: 2 of 4.
        ([("book", '{"room": 3}'), ("list_rooms", "{}")], 1.0),
        ([("list_rooms", "{}")], -2.0),
        ([], -3.0),
        ([("book", "{")], -3.0),
    ],
)
def test_toolrl_pays_form_and_correctness(calls: list[tuple[str, str]], value: float) -> None:
    found = resolve_reward("toolrl")(trajectory([calls], reference_calls=json.dumps(REFERENCE)))
    assert found == pytest.approx(value)


def test_toolrl_where_no_call_is_right() -> None:
    assert resolve_reward("toolrl")(trajectory([[]], reference_calls="[]")) == 1.0
    assert resolve_reward("toolrl")(trajectory([[("book", "{}")]], reference_calls="[]")) == 0.0
    assert resolve_reward("toolrl")(trajectory([[]])) is None, "nothing says which calls are right"


def test_each_call_matches_one_reference_call() -> None:
    twice = [("book", {"room": 3}), ("book", {"room": 4})]
    assert score_calls(twice, twice) == 3.0
    assert score_calls(twice[::-1], twice) == 3.0
    assert score_calls([twice[0], twice[0]], twice) < 3.0


def test_an_unknown_reward_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownReward, match="no 'toolr'; the nearest is 'toolrl' of given, "):
        resolve_reward("toolr")


def test_a_run_trains_on_a_computed_reward_and_its_plan_keeps_it(
    store: SqliteStore, first_policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "their_reward.py").write_text(THEIRS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(
        registry, "entry_points", lambda group: [EntryPoint("x", "their_reward", "crosswind.rewards")]
    )
    policy = model.load(read_version(first_policy).path)
    for number in range(2):
        play(store, policy, f"g{number}", 4, reward=lambda done: 1.0)
    config = settings(steps=1, reward="even_rollouts", curriculum__kind="off")
    train(make_run(tmp_path / "out", first_policy, store, config))
    [row] = store.steps("run")
    assert row.rewards is not None and sorted(row.rewards.values()) == [0.0] * 4 + [7.0] * 4
    assert row.metrics["trained_rollouts"] == 8, "as they were given, the rewards are all equal"
    assert "even_rollouts" in rewards()
    monkeypatch.delitem(reward._registry.registered, "even_rollouts")


THEIRS = """
from crosswind import reward


@reward("even_rollouts")
def even_rollouts(trajectory):
    return 7.0 if trajectory.session.rollout_index % 2 == 0 else 0.0
"""
