"""Training from a store that another run, or another policy, recorded."""

from __future__ import annotations

import hashlib
from io import StringIO
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.gateway.trajectory.store import open_store
from crosswind.policies.versions.version import read_version
from crosswind.trainer.commands.train import train as command
from crosswind.trainer.learning import model
from crosswind.trainer.learning.model import Policy
from crosswind.trainer.run.loop import train
from crosswind.trainer.run.progress import Progress
from tests.trainer.practice import make_run, play, play_groups, settings, write_tiny_policy
from tests.trainer.run.test_loop import low_half, low_half_mass


def test_groups_of_other_policies_train_by_their_recorded_log_probabilities(
    store: SqliteStore, policy: Policy, first_policy: Path, tmp_path: Path
) -> None:
    """What other weights sampled raises what is rewarded; the store's content stays as it was."""
    other = model.load(write_tiny_policy(tmp_path / "other", seed=9))
    sampled_by = {"version": "theirs-00007", "reward": low_half, "turns": 1, "tokens": 2}
    for number in range(16):
        play(store, other, f"g{number}", 16, **sampled_by)
    before = sorted(session.id for session in store.sessions(limit=1000))
    said, own = StringIO(), open_store(f"sqlite:///{tmp_path / 'own.db'}")
    config = settings(steps=20, group_size=16, curriculum__kind="off", optimiser__learning_rate=0.04)
    progress = Progress(as_json=True, stream=said)
    run = make_run(tmp_path / "out", first_policy, own, config, recorded=store, progress=progress)
    state = train(run)
    lines = [orjson.loads(line) for line in said.getvalue().splitlines()]
    steps = [line for line in lines if line["event"] == "step"]
    assert state.step == 8 and [step["groups"] for step in steps] == [2] * 8
    assert all(step["refused"] == {} and 0.2 < step["effective_share"] < 1 for step in steps)
    assert lines[-1]["message"] == "the store has no further groups that train: step 9 isn't taken"
    newest = model.load(run.registry.get(state.version).path)
    assert low_half_mass(newest) > low_half_mass(model.load(read_version(first_policy).path)) + 0.1
    assert sorted(session.id for session in store.sessions(limit=1000)) == before
    assert not list(store.steps("run")) and len(own.steps("run")) == 8
    own.close()


def test_the_command_trains_offline_without_engine_or_gateway(
    store: SqliteStore, policy: Policy, first_policy: Path, tmp_path: Path
) -> None:
    play_groups(store, policy, range(2), version="theirs")
    rows = hashlib.sha256(repr(store.counts()).encode()).hexdigest()
    given = ["run", "--policy", str(first_policy), "--out", str(tmp_path / "out"), "--from", str(store.path)]
    small = ["--set", "groups_per_step=2", "--set", "group_size=4", "--set", "max_sequence=128"]
    done = CliRunner().invoke(command, [*given, *small, "--steps", "3", "--json-progress"])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "out" / "train.db").is_file()
    assert "done: step 1, version out-00001" in done.output
    assert hashlib.sha256(repr(store.counts()).encode()).hexdigest() == rows


def test_the_store_that_is_read_is_not_written_to(
    store: SqliteStore, first_policy: Path, tmp_path: Path
) -> None:
    given = ["run", "--policy", str(first_policy), "--out", str(tmp_path / "out"), "--from", str(store.path)]
    done = CliRunner().invoke(command, [*given, "--store", f"sqlite:///{store.path}"])
    assert (done.exit_code, done.output) == (
        2,
        "crosswind: --store: it is what --from reads, and that isn't written to; leave --store out\n",
    )
    assert not store.steps("out")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--engine", "http://127.0.0.1:1"], "--from: recorded groups need no engine and no gateway"),
        ([], "--from: there is no store at"),
    ],
)
def test_what_contradicts_offline_training_is_refused(
    more: list[str], said: str, first_policy: Path, tmp_path: Path
) -> None:
    given = ["run", "--policy", str(first_policy), "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(command, [*given, "--from", str(tmp_path / "gone.db"), *more])
    assert done.exit_code == 2 and said in done.output, done.output
