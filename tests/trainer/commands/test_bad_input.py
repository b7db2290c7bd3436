"""What can't be trained on, as a person meets it: an exit code, and one line that says what to do."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from msgspec import structs

from crosswind.gateway.trajectory.fitness import Fitness
from crosswind.gateway.trajectory.record import Completion, Reward, RewardState, SessionClosed, SessionMarked
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.trainer.commands.train import train
from crosswind.trainer.learning.model import Policy
from tests.policies.versions.test_full_disk import no_file_above
from tests.trainer.practice import CLOCK, FIRST, play_groups, session, turn

SMALL = ["--set", "group_size=4", "--set", "groups_per_step=2", "--set", "max_sequence=128"]


def run(store: SqliteStore, policy: Path, out: Path, *more: str) -> Result:
    """`crosswind train run` of one step, that waits for a moment."""
    given = ["run", "--policy", policy, "--out", out, *SMALL, "--run", "run", "--wait", "0.1", "--steps", "1"]
    if "--from" not in more:
        given += ["--store", store.path]
    return CliRunner().invoke(train, [*map(str, given), *more])


def put(
    store: SqliteStore, rewards: Sequence[float | None], ids: Sequence[int] = (5, 6), **turns: Any
) -> None:
    """Two groups with these rewards; a reward of None never comes."""
    for group in ("a", "b"):
        for index, reward in enumerate(rewards):
            opened = session(group, index, len(rewards))
            done = Completion(0, tuple(ids), (-5.0,) * len(ids), "stop")
            said = turn(opened.id, 0, [1, 2, 3], done, policy_first=FIRST, policy_last=FIRST)
            store.write([opened, structs.replace(said, **turns), SessionClosed(opened.id, next(CLOCK))])
            given = SessionMarked(opened.id, reward_state=RewardState.EXPIRED)
            store.write([given if reward is None else Reward(opened.id, next(CLOCK), reward)])


MIXED = [0.0, 1.0, 0.0, 1.0]
NO_IDS = {"prompt_ids": None, "completions": (Completion(0),), "fitness": Fitness.NO_TOKEN_IDS}


@pytest.mark.parametrize(
    ("rewards", "turns", "said"),
    [
        (MIXED, NO_IDS, "can't train: 2 no_token_ids; the gateway asked for no token ids"),
        ([None] * 4, {}, "no group completed for 0.1 s"),
        (MIXED, {"policy_first": "gone", "policy_last": "gone"}, "2 unknown_version; they are of no version"),
    ],
)
def test_a_store_without_what_training_needs_ends_the_run(
    rewards: list[float | None],
    turns: dict[str, Any],
    said: str,
    store: SqliteStore,
    first_policy: Path,
    tmp_path: Path,
) -> None:
    put(store, rewards, **turns)
    done = run(store, first_policy, tmp_path / "out")
    assert done.exit_code == 1, done.output
    (line,) = done.stderr.splitlines()
    assert line.startswith("crosswind: ") and said in line
    assert not list((tmp_path / "out" / "checkpoints").glob("step-*"))


def test_tokens_of_another_tokenizer_end_the_run(
    store: SqliteStore, first_policy: Path, tmp_path: Path
) -> None:
    """Offline any policy's tokens train, where the policy knows them."""
    put(store, MIXED, ids=(5, 99_999))
    done = run(store, first_policy, tmp_path / "out", "--from", str(store.path))
    assert done.exit_code == 1, done.output
    (line,) = done.stderr.splitlines()
    assert "--from: no group of the store can train: 2 other_tokenizer; the policy has no such" in line
    assert not list((tmp_path / "out" / "checkpoints").glob("step-*"))


@pytest.mark.parametrize("rewards", [[1.0], [0.5] * 4], ids=["groups of one", "zero variance"])
def test_groups_without_a_difference_move_no_weight_and_are_counted(
    rewards: list[float], store: SqliteStore, first_policy: Path, tmp_path: Path
) -> None:
    put(store, rewards)
    done = run(store, first_policy, tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert "groups 2 (2 even)" in done.output and f"done: step 1, version {FIRST}" in done.output


def test_a_checkpoint_of_another_model_is_refused(
    store: SqliteStore, policy: Policy, first_policy: Path, tmp_path: Path
) -> None:
    play_groups(store, policy, range(2))
    assert run(store, first_policy, tmp_path / "out").exit_code == 0
    other = Path(shutil.copytree(first_policy, tmp_path / "other"))
    (other / "crosswind.json").write_text((other / "crosswind.json").read_text().replace(FIRST, "other"))
    done = run(store, other, tmp_path / "out")
    assert done.exit_code == 2, done.output
    (line,) = done.stderr.splitlines()
    assert "--out: " in line and "name those, or another --out" in line


def test_a_policy_that_is_gone_is_refused(
    store: SqliteStore, policy: Policy, first_policy: Path, tmp_path: Path
) -> None:
    play_groups(store, policy, range(2))
    copied = Path(shutil.copytree(first_policy, tmp_path / "policy"))
    assert run(store, copied, tmp_path / "out").exit_code == 0
    shutil.rmtree(copied)
    done = run(store, copied, tmp_path / "out", "--steps", "2")
    assert done.exit_code == 2, done.output
    (line,) = done.stderr.splitlines()
    assert line.startswith("crosswind: --policy: ") and str(copied) in line


def test_a_full_disk_ends_the_run_and_leaves_no_checkpoint(
    store: SqliteStore, policy: Policy, first_policy: Path, tmp_path: Path
) -> None:
    play_groups(store, policy, range(2))
    with no_file_above(100_000):
        done = run(store, first_policy, tmp_path / "out")
    assert done.exit_code == 1, done.output
    (line,) = done.stderr.splitlines()
    assert line.startswith("crosswind: ") and "free space" in line
    assert not list((tmp_path / "out").glob("checkpoints/step-*"))
    assert run(store, first_policy, tmp_path / "out").exit_code == 0


def test_a_judge_that_is_down_ends_the_run(
    store: SqliteStore, policy: Policy, first_policy: Path, tmp_path: Path
) -> None:
    put(store, MIXED)
    (tmp_path / "rubric").write_text("Was it right?")
    judge = ["--judge", "http://127.0.0.1:9/v1/model", "--rubric", str(tmp_path / "rubric")]
    done = run(store, first_policy, tmp_path / "out", *judge)
    assert done.exit_code == 1, done.output
    (line,) = done.stderr.splitlines()
    assert line.startswith("crosswind: ") and "judge" in line


def test_memory_that_does_not_do_for_one_rollout_ends_the_run(
    store: SqliteStore, policy: Policy, first_policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    score = Policy.score

    def score_in_memory(self: Policy, batch: Any, temperature: float) -> Any:
        if torch.is_grad_enabled():
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return score(self, batch, temperature)

    play_groups(store, policy, range(2))
    monkeypatch.setattr(Policy, "score", score_in_memory)
    done = run(store, first_policy, tmp_path / "out")
    assert done.exit_code == 1, done.output
    (line,) = done.stderr.splitlines()
    assert "doesn't fit into memory, halved neither: lower optimiser.token_budget" in line
