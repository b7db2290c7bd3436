from __future__ import annotations

import random
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from io import StringIO
from pathlib import Path

import orjson
import pytest
import torch

from crosswind.gateway.trajectory.record import Completion, RewardState, Setting
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.gateway.trajectory.trust import VERSION
from crosswind.policies.deployment.confirmation import Confirmation
from crosswind.policies.deployment.deployment import DeploymentObserver
from crosswind.policies.publishers.embedded import EmbeddedEngine
from crosswind.policies.versions.version import PolicyVersion, Registry, read_version
from crosswind.trainer.curriculum.driver import STATE_KIND
from crosswind.trainer.learning import model
from crosswind.trainer.learning.model import Policy
from crosswind.trainer.rollouts.cursor import GroupCursor
from crosswind.trainer.rollouts.source import NoGroups
from crosswind.trainer.run.checkpoint import RunState
from crosswind.trainer.run.loop import EngineMismatch, train
from crosswind.trainer.run.progress import Progress
from tests.trainer.practice import FIRST, make_run, play, play_groups, settings


class Told(DeploymentObserver):
    """An observer that keeps what it is told."""

    def __init__(self) -> None:
        self.news: list[str] = []

    def on_publish(self, version: str) -> None:
        self.news.append(f"publishing {version}")

    def on_published(self, version: PolicyVersion) -> None:
        self.news.append(f"published {version.version}")

    def on_confirmed(self, version: str, confirmation: Confirmation) -> None:
        assert confirmation.difference.tokens > 0 and confirmation.difference.largest < 1e-4
        self.news.append(f"confirmed {version}")

    def on_doubted(self, version: str, reason: str) -> None:
        self.news.append(f"doubted {version}")


def low_half(done: Sequence[Completion]) -> float:
    """A bandit: the share of sampled tokens in the lower half of the vocabulary."""
    tokens = [token for completion in done for token in completion.token_ids]
    return sum(token < 180 for token in tokens) / len(tokens)


def low_half_mass(policy: Policy) -> float:
    """The probability that the bandit is paid for, as the next token after a few fixed prompts."""
    rng = random.Random(7)
    prompts = torch.tensor([[rng.randrange(10, 200) for _ in range(6)] for _ in range(16)])
    with torch.no_grad():
        scores = torch.softmax(policy.module(input_ids=prompts).logits[:, -1], dim=-1)
    return float(scores[:, :180].sum(-1).mean())


def test_the_loop_raises_the_probability_of_what_is_rewarded(
    store: SqliteStore, first_policy: Path, tmp_path: Path, engine: EmbeddedEngine
) -> None:
    """On-policy: each step's groups are sampled by the version that the step before published."""
    config = settings(curriculum__kind="off", optimiser__learning_rate=0.04, group_size=16)
    newest, masses = read_version(first_policy), []
    for step in range(8):
        policy = model.load(newest.path)
        masses.append(low_half_mass(policy))
        for index in range(2):
            name = f"{step}-{index}"
            play(store, policy, name, 16, reward=low_half, version=newest.version, turns=1, tokens=2)
        run = make_run(
            tmp_path / "out",
            first_policy,
            store,
            config.model_copy(update={"steps": step + 1}),
            engine=engine,
        )
        newest = run.registry.get(train(run).version)
    assert masses[-1] > masses[0] + 0.25, masses
    assert engine.health().version == "run-00008"
    assert [row.policy_version for row in store.steps("run")] == [f"run-{step:05d}" for step in range(1, 9)]


def test_a_rollout_that_met_an_outage_is_counted_and_the_step_is_taken(
    store: SqliteStore, policy: Policy, first_policy: Path, tmp_path: Path
) -> None:
    play_groups(store, policy, range(2))
    with closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute(
            "UPDATE turn SET fitness = 'upstream_error' "
            "WHERE session = (SELECT number FROM session WHERE id = 'g0-0')"
        )
    said = StringIO()
    state = train(
        make_run(
            *(tmp_path / "out", first_policy, store, settings(steps=1)),
            progress=Progress(as_json=True, stream=said),
        )
    )
    (step,) = [line for line in map(orjson.loads, said.getvalue().splitlines()) if line["event"] == "step"]
    assert state.step == 1 and step["refused"] == {"upstream_error": 1}


def test_every_step_says_what_it_did(
    store: SqliteStore, policy: Policy, first_policy: Path, tmp_path: Path, engine: EmbeddedEngine
) -> None:
    play_groups(store, policy, range(4), noisy=2, reward=lambda done: done[0].token_ids[0] % 7 / 6)
    said = StringIO()
    progress = Progress(as_json=True, stream=said)
    train(
        make_run(tmp_path / "out", first_policy, store, settings(steps=2), engine=engine, progress=progress)
    )
    lines = [orjson.loads(line) for line in said.getvalue().splitlines()]
    (first,) = [line for line in lines if "before the first update" in line.get("message", "")]
    assert first["max_difference"] < 1e-4
    steps = [line for line in lines if line["event"] == "step"]
    assert [step["version"] for step in steps] == ["run-00001", "run-00002"]
    assert first["tokens"] == steps[0]["tokens"] == 6 * steps[0]["trained_rollouts"]
    for step, row in zip(steps, store.steps("run"), strict=True):
        assert step["groups"] == 2
        assert step["rollouts"] == 8
        assert step["splits"] == 0
        assert step["kl"] > 0
        assert step["entropy"] > 0
        assert step["confirmed_tokens"] > 0
        assert set(step["levels"]) == {
            "tool.incomplete",
            "tool.misleading",
            "tool.timeout",
            "user.redundant",
            "user.typos",
        }
        assert row.metrics is not None
        assert {name: value for name, value in step.items() if name != "event"} == dict(row.metrics)
    kept = store.setting(STATE_KIND, "run")
    assert kept is not None
    assert kept.value["step"] == 2


def test_people_read_one_line_a_step(
    store: SqliteStore, policy: Policy, first_policy: Path, tmp_path: Path
) -> None:
    play(store, policy, "g", 4, reward=lambda done: float(done[0].token_ids[0] % 2))
    play(store, policy, "h", 4, reward=lambda done: 1.0)
    said = StringIO()
    progress = Progress(as_json=False, stream=said)
    train(make_run(tmp_path / "out", first_policy, store, settings(steps=1), progress=progress))
    (line,) = [line for line in said.getvalue().splitlines() if line.startswith("step")]
    assert "run-00001" in line
    assert "groups 2 (1 even)" in line
    assert "noisy   –" in line


def dealt_with(state: RunState, store: SqliteStore) -> list[str]:
    """The groups of the store that the run won't take again."""
    assert state.cursor is not None
    cursor = GroupCursor.from_json(state.cursor)
    cursor.poll(store)
    return sorted(
        {group.name for group in store.groups_since(0)} - {one.name for one in cursor.waiting.values()}
    )


def test_a_step_of_even_groups_trains_nothing_and_moves_the_cursor(
    store: SqliteStore, policy: Policy, first_policy: Path, tmp_path: Path
) -> None:
    play_groups(store, policy, range(2), reward=lambda done: 1.0)
    state = train(make_run(tmp_path / "out", first_policy, store, settings(steps=1)))
    assert state.version == FIRST and dealt_with(state, store) == ["g0", "g1"]
    (row,) = store.steps("run")
    assert row.metrics is not None
    assert (row.metrics["filtered_groups"], row.metrics["optimiser_steps"]) == (2, 0)
    assert Registry(tmp_path / "out" / "versions").versions() == []


def test_log_probabilities_that_are_not_ours_stop_the_training(
    store: SqliteStore, policy: Policy, first_policy: Path, tmp_path: Path
) -> None:
    other = model.load(first_policy)
    with torch.no_grad():
        for weight in other.module.parameters():
            weight.add_(0.05 * torch.randn_like(weight))
    play(store, policy, "g0", 4)
    play(store, other, "g1", 4)
    with pytest.raises(EngineMismatch, match=f"for version '{FIRST}' that differ from the trainer's"):
        train(make_run(tmp_path / "out", first_policy, store, settings(steps=1)))
    assert not (tmp_path / "out" / "checkpoints").exists()


def test_an_engine_that_recorded_other_log_probabilities_is_rolled_back_and_doubted(
    store: SqliteStore, policy: Policy, first_policy: Path, tmp_path: Path, engine: EmbeddedEngine
) -> None:
    """Its first step is right; then the engine samples with weights that aren't the version's."""
    play_groups(store, policy, range(2))
    run = make_run(tmp_path / "out", first_policy, store, settings(steps=1), engine=engine)
    newest = train(run).version
    assert engine.health().version == newest == "run-00001"
    other = model.load(run.registry.get(newest).path)
    with torch.no_grad():
        for weight in other.module.parameters():
            weight.add_(0.05 * torch.randn_like(weight))
    play_groups(store, other, range(2, 4), version=newest)
    told = Told()
    again = replace(run, config=settings(steps=2), observers=[told])
    with pytest.raises(EngineMismatch, match=r"nothing was trained on it; rolled back to 'first'"):
        train(again)
    assert engine.health().version == FIRST
    assert told.news == [
        "confirmed run-00001",
        "doubted run-00001",
        "publishing first",
        "published first",
        "confirmed first",
    ]
    status = run.registry.journal.read_statuses()
    assert "differ from the trainer's" in str(status["run-00001"].bad) and status[FIRST].bad is None


def test_what_a_doubted_version_sampled_never_trains(
    store: SqliteStore, policy: Policy, first_policy: Path, tmp_path: Path
) -> None:
    play_groups(store, policy, range(2))
    store.write([Setting(VERSION, FIRST, {"trusted": False, "reason": "tampered with"}, 1)])
    with pytest.raises(NoGroups, match="these can't train: 2 policy_mismatch"):
        train(make_run(tmp_path / "out", first_policy, store, settings(steps=1)))


def test_told_to_stop_it_ends_and_goes_on_later(
    store: SqliteStore, policy: Policy, first_policy: Path, tmp_path: Path
) -> None:
    stop = threading.Event()
    stop.set()
    state = train(make_run(tmp_path / "out", first_policy, store, settings(steps=1), stop=stop))
    assert state.step == 0
    play_groups(store, policy, range(2))
    assert train(make_run(tmp_path / "out", first_policy, store, settings(steps=1))).step == 1


def test_stale_groups_are_dropped_for_good(
    store: SqliteStore, policy: Policy, first_policy: Path, tmp_path: Path
) -> None:
    play_groups(store, policy, range(4))
    run = make_run(tmp_path / "out", first_policy, store, settings(steps=1, staleness=0))
    newest = train(run).version
    fresh = model.load(run.registry.get(newest).path)
    play_groups(store, fresh, range(4, 6), version=newest)
    state = train(replace(run, config=settings(steps=2, staleness=0)))
    assert state.metrics["dropped_groups"] == {"stale": 2}
    assert dealt_with(state, store) == [f"g{index}" for index in range(6)]
    assert [row.group_ids for row in store.steps("run")] == [("g0", "g1"), ("g4", "g5")]
    assert all(one.session.reward_state is RewardState.GIVEN for one in store.group("g0"))
