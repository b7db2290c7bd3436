"""A trainer that is killed goes on as if nothing had been: the next step is, to the bit, the one it would
have been.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import orjson
import pytest

from crosswind.gateway.trajectory.record import Reward, SessionClosed
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.policies.publishers.embedded import EmbeddedEngine
from crosswind.policies.versions.version import PolicyVersion, Registry, read_version, verify, write_metadata
from crosswind.trainer.config.settings import SettingsError
from crosswind.trainer.learning import model
from crosswind.trainer.rollouts.groups import Admission, Group, read_group
from crosswind.trainer.run import checkpoint
from crosswind.trainer.run.loop import train
from crosswind.trainer.run.progress import Progress
from crosswind.trainer.run.run import begin_or_resume
from tests import ROOT
from tests.trainer.practice import CLOCK, FIRST, make_run, play, session, settings
from tests.trainer.run.killed_run import POINTS

ANY = Admission({FIRST: 0}, staleness=0, temperature=1.0)
TIMED = ("waited_seconds", "train_seconds", "seconds", "swap_ms", "tokens_per_second")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory, first_policy: Path) -> Path:
    """A store with three steps' groups, sampled by the first policy, some of them noisy; rewards by token."""
    path = tmp_path_factory.mktemp("played") / "store.db"
    store = SqliteStore(path)
    policy = model.load(first_policy)
    for index in range(6):
        play(
            store, policy, f"g{index}", 4, noisy=2, seed=1, reward=lambda done: done[-1].token_ids[0] % 5 / 4
        )
    store.close()
    return path


def outcome(out: Path, store: SqliteStore) -> dict[str, Any]:
    """All that a run leaves behind, but for times."""
    rows = store.steps("run")
    last = checkpoint.find_newest(out / "checkpoints")
    assert last is not None
    assert not list((out / "checkpoints").glob(".*")), "nothing half-written stays"
    state = checkpoint.read_state(last)
    weights = {
        version.version: (version.path / "model.safetensors").read_bytes()
        for version in Registry(out / "versions").versions()
    }
    metrics = [
        {name: value for name, value in (row.metrics or {}).items() if name not in TIMED} for row in rows
    ]
    return {
        "weights": weights,
        "metrics": metrics,
        "groups": [row.group_ids for row in rows],
        "seeds": [row.seeds for row in rows],
        "cursor": state.cursor,
        "curriculum": state.curriculum,
        "last": (last.name, (last / "model.safetensors").read_bytes()),
    }


@pytest.fixture(scope="module")
def undisturbed(
    played: Path, tmp_path_factory: pytest.TempPathFactory, first_policy: Path, engine_url: str
) -> dict[str, Any]:
    """What three steps without a crash leave behind."""
    folder = tmp_path_factory.mktemp("undisturbed")
    store = SqliteStore(shutil.copy(played, folder / "store.db"))
    with EmbeddedEngine(engine_url) as engine:
        train(make_run(folder / "out", first_policy, store, settings(steps=3), engine=engine))
    left = outcome(folder / "out", store)
    store.close()
    return left


def test_an_undisturbed_run_takes_three_different_steps(undisturbed: dict[str, Any]) -> None:
    assert [metrics["optimiser_steps"] for metrics in undisturbed["metrics"]] == [2, 2, 2]
    assert len(set(undisturbed["weights"].values())) == 3
    cursor = undisturbed["cursor"]
    assert cursor["position"] > 0 and (cursor["waiting"], cursor["consumed"]) == ([], [])
    assert all(metrics["confirmed_difference"] < 1e-4 for metrics in undisturbed["metrics"])


@pytest.fixture
def path(played: Path, tmp_path: Path) -> Path:
    """A copy of the played store."""
    return Path(shutil.copy(played, tmp_path / "store.db"))


@pytest.fixture(scope="module")
def killed(
    played: Path, tmp_path_factory: pytest.TempPathFactory, first_policy: Path, engine_url: str
) -> dict[str, Path]:
    """By point: the folder of a run that was killed there."""
    root = tmp_path_factory.mktemp("killed")
    folders = {point: root / point for point in POINTS}
    for folder in folders.values():
        folder.mkdir()
        shutil.copy(played, folder / "store.db")
    done = subprocess.run(
        [sys.executable, "-m", "tests.trainer.run.killed_run", first_policy, engine_url, root],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert orjson.loads(done.stdout) == dict.fromkeys(POINTS, -signal.SIGKILL), done.stderr
    return folders


def test_a_reward_that_changes_after_the_plan_changes_no_step(
    path: Path, undisturbed: dict[str, Any], first_policy: Path, tmp_path: Path, engine: EmbeddedEngine
) -> None:
    """Between a step's plan and the restart rewards are corrected, and one more session is rewarded."""
    store = SqliteStore(path)
    run = make_run(tmp_path / "out", first_policy, store, settings(steps=3), engine=engine)
    groups = [read_group(name, store.group(name), ANY) for name in ("g0", "g1")]
    store.plan_step(run.plan_step(1, groups))
    reward, late = groups[0].rewards[0], session("g0", 4, 4)
    store.write([Reward("g0-0", next(CLOCK), 1.0 - reward), Reward("g0-1", next(CLOCK), 0.125)])
    store.write([late, Reward(late.id, next(CLOCK), 1.0), SessionClosed(late.id, next(CLOCK))])
    train(run)
    assert outcome(tmp_path / "out", store)["weights"] == undisturbed["weights"]
    store.close()


@pytest.mark.parametrize("point", POINTS)
def test_killed_and_started_again_it_takes_the_steps_that_it_would_have_taken(
    point: str, killed: dict[str, Path], undisturbed: dict[str, Any], first_policy: Path, engine_url: str
) -> None:
    folder = killed[point]
    store = SqliteStore(folder / "store.db")
    with EmbeddedEngine(engine_url) as engine:
        train(make_run(folder / "out", first_policy, store, settings(steps=3), engine=engine))
        assert engine.health().version == "run-00003"
    assert outcome(folder / "out", store) == undisturbed
    assert len(store.steps("run")) == 3, "no step was planned twice"
    assert all(row.completed_us for row in store.steps("run"))
    store.close()


def test_a_checkpoint_is_another_runs_business(path: Path, first_policy: Path, tmp_path: Path) -> None:
    store = SqliteStore(path)
    run = make_run(tmp_path / "out", first_policy, store, settings(steps=1))
    train(run)
    with pytest.raises(SettingsError, match=r"--fresh: .* holds a run's checkpoints already"):
        train(make_run(run.out, first_policy, store, settings(steps=2), fresh=True))
    with pytest.raises(SettingsError, match="--run: the store holds steps of run 'run'"):
        train(make_run(tmp_path / "elsewhere", first_policy, store, settings(steps=2)))
    with pytest.raises(checkpoint.CheckpointError, match=r"set lora\.rank as the run was begun"):
        train(make_run(run.out, first_policy, store, settings(steps=2, lora__rank=2)))
    assert read_version(first_policy).version == FIRST
    store.close()


def test_a_first_policy_that_changes_is_no_matter_until_the_next_start(
    path: Path, first_policy: Path, tmp_path: Path
) -> None:
    """Each version carries the tokenizer that the first had when the run began."""
    store, copied = SqliteStore(path), Path(shutil.copytree(first_policy, tmp_path / "policy"))
    run = make_run(tmp_path / "out", copied, store, settings(steps=1))
    learner, state = begin_or_resume(run)
    tokenizer = (copied / "tokenizer.json").read_bytes()
    (copied / "tokenizer.json").write_text("{}")
    learner.policy.write(copied)
    assert (copied / "tokenizer.json").read_bytes() == tokenizer
    assert state.first_checksum == read_version(first_policy).checksum

    train(run)
    write_metadata(PolicyVersion(FIRST, copied, kind="changed"))
    train(replace(run, config=settings(steps=2)))
    (copied / "chat_template.jinja").write_text("changed")
    write_metadata(PolicyVersion(FIRST, copied))
    with pytest.raises(SettingsError, match=r"--policy: .* isn't what run 'run' began from"):
        train(replace(run, config=settings(steps=3)))
    store.close()


@pytest.mark.parametrize("links", [True, False])
def test_a_steps_weights_are_written_once(
    path: Path, first_policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    """Where the file system has no links, they are copied."""

    def refuse(*given: object) -> None:
        raise PermissionError

    if not links:
        monkeypatch.setattr(checkpoint.os, "link", refuse)
    store = SqliteStore(path)
    run = make_run(tmp_path / "out", first_policy, store, settings(steps=2))
    state = train(run)
    newest = checkpoint.find_newest(run.checkpoints)
    assert newest is not None
    kept, published = newest / "model.safetensors", run.registry.get(state.version).path / "model.safetensors"
    assert kept.samefile(published) == links
    assert kept.read_bytes() == published.read_bytes()
    verify(run.registry.get(state.version))
    store.close()


def test_old_checkpoints_go_and_a_damaged_one_is_named(
    played: Path, first_policy: Path, tmp_path: Path
) -> None:
    store = SqliteStore(shutil.copy(played, tmp_path / "store.db"))
    run = make_run(tmp_path / "out", first_policy, store, settings(steps=3, keep_checkpoints=1))
    train(run)
    (only,) = run.checkpoints.iterdir()
    assert only.name == "step-000003"
    state = orjson.loads((only / "state.json").read_bytes())
    assert state["versions"] == [FIRST, "run-00001", "run-00002", "run-00003"]
    assert (state["first"], state["older"]) == (FIRST, 0)
    (only / "model.safetensors").write_bytes((only / "model.safetensors").read_bytes()[:99])
    with pytest.raises(checkpoint.CheckpointError, match=r"step-000003/model\.safetensors: can't be used"):
        train(run)
    (only / "state.json").write_text("{")
    with pytest.raises(checkpoint.CheckpointError, match=r"step-000003/state\.json: can't be used"):
        train(run)
    store.close()


def test_a_checkpoint_holds_the_newest_versions_and_knows_the_older_ones(
    played: Path, first_policy: Path, tmp_path: Path
) -> None:
    """What was sampled by a version that the checkpoint names no longer is stale, and not unknown."""
    store = SqliteStore(shutil.copy(played, tmp_path / "store.db"))
    few = {"staleness": 1, "keep_versions": 2, "groups_per_step": 1}
    fresh = first_policy
    for step in (1, 2, 3):
        run = make_run(tmp_path / "out", first_policy, store, settings(steps=step, **few))
        newest = train(run).version
        fresh = run.registry.get(newest).path
        play(store, model.load(fresh), f"h{step}", 4, version=newest)
    state = checkpoint.read_state(checkpoint.find_newest(run.checkpoints) or tmp_path)
    assert state.metrics["dropped_groups"] == {"stale": 4}
    assert (state.versions, state.older, state.first) == (["run-00002", "run-00003"], 2, FIRST)
    assert [state.owns(name) for name in (FIRST, "run-00001", "run-00004", "run-1x")] == [
        True,
        True,
        False,
        False,
    ]
    admission = run.admission(state, model.load(first_policy))
    assert {one.refused for one in read_group("g0", store.group("g0"), admission).rollouts} == {"stale"}
    assert {one.refused for one in read_group("h1", store.group("h1"), admission).rollouts} == {"stale"}
    store.close()


def test_a_checkpoint_from_before_the_cursor_is_gone_on_from(
    played: Path, first_policy: Path, tmp_path: Path
) -> None:
    store = SqliteStore(shutil.copy(played, tmp_path / "store.db"))
    run = make_run(tmp_path / "out", first_policy, store, settings(steps=1))
    train(run)
    (path,) = run.checkpoints.iterdir()
    state = orjson.loads((path / "state.json").read_bytes())
    for name in ("cursor", "first", "older"):
        del state[name]
    (path / "state.json").write_bytes(orjson.dumps(state | {"consumed": ["g0", "g1"]}))
    train(replace(run, config=settings(steps=2)))
    assert [row.group_ids for row in store.steps("run")] == [("g0", "g1"), ("g2", "g3")]
    store.close()


def test_an_interrupted_step_whose_groups_were_deleted_says_so(
    store: SqliteStore, first_policy: Path, tmp_path: Path
) -> None:
    """Retention, or `crosswind store prune`, while a killed trainer stood still."""
    play(store, model.load(first_policy), "kept", 4)
    said = StringIO()
    fields = {"progress": Progress(as_json=True, stream=said)}
    run = make_run(tmp_path / "out", first_policy, store, settings(steps=1, groups_per_step=2), **fields)
    store.plan_step(run.plan_step(1, [Group("deleted", ()), read_group("kept", store.group("kept"), ANY)]))
    assert train(run).step == 1
    assert "step 1 goes on without groups that were deleted since: deleted" in said.getvalue()
