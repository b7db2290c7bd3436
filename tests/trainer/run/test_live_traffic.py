"""Sessions that are in no group train against the mean reward so far of their label and arm."""

from __future__ import annotations

import random
from collections.abc import Sequence
from io import StringIO
from pathlib import Path

import orjson
import pytest

from crosswind.gateway.trajectory.backlog import BACKLOG, Backlog
from crosswind.gateway.trajectory.record import Completion, Reward
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.policies.versions.version import read_version
from crosswind.trainer.config.settings import SettingsError, TrainConfig
from crosswind.trainer.learning import model
from crosswind.trainer.learning.model import Policy
from crosswind.trainer.run import checkpoint
from crosswind.trainer.run.loop import train
from crosswind.trainer.run.progress import Progress
from tests.trainer.practice import make_run, play, settings, write_tiny_policy
from tests.trainer.run.test_loop import low_half, low_half_mass


def live(**changes: object) -> TrainConfig:
    own = {"objective": "reinforce", "train_on": "sessions", "baseline": "running", "curriculum__kind": "off"}
    return settings(**(own | {"groups_per_step": 16, "running__minimum": 8} | changes))


def steps_of(said: StringIO) -> list[dict[str, object]]:
    return [line for line in map(orjson.loads, said.getvalue().splitlines()) if line["event"] == "step"]


def test_sessions_without_groups_raise_what_is_rewarded(
    store: SqliteStore, first_policy: Path, tmp_path: Path
) -> None:
    newest, masses, said = read_version(first_policy), [], StringIO()
    for step in range(10):
        policy = model.load(newest.path)
        masses.append(low_half_mass(policy))
        play(
            *(store, policy, f"s{step}", 32),
            **{"reward": low_half, "version": newest.version, "turns": 1, "tokens": 2, "alone": True},
        )
        config = live(groups_per_step=32, optimiser__learning_rate=0.04, steps=step + 1)
        progress = Progress(as_json=True, stream=said)
        run = make_run(tmp_path / "out", first_policy, store, config, progress=progress)
        state = train(run)
        newest = run.registry.get(state.version) if state.version != "first" else newest
    assert masses[-1] > masses[0] + 0.2, masses
    first, second, *_ = steps_of(said)
    assert first["refused"] == {"no_baseline": 32} and first["optimiser_steps"] == 0
    assert second["refused"] == {} and second["optimiser_steps"] == 2


def test_a_late_and_corrected_reward_counts_as_it_stands_at_planning(
    store: SqliteStore, policy: Policy, first_policy: Path, tmp_path: Path
) -> None:
    play(store, policy, "s", 16, reward=lambda done: 0.25, alone=True)
    store.write([Reward("s-3", 2_000_000_000_000_000, 1.0)])
    state = train(make_run(tmp_path / "out", first_policy, store, live(steps=1)))
    [(count, mean)] = state.running_means.values()
    assert (count, round(mean, 9)) == (16, round((15 * 0.25 + 1.0) / 16, 9))


def test_a_run_goes_on_with_the_means_of_its_checkpoint(
    store: SqliteStore, policy: Policy, first_policy: Path, tmp_path: Path
) -> None:
    """Each session trains once, in whichever process."""
    play(store, policy, "a", 16, alone=True)
    train(make_run(tmp_path / "out", first_policy, store, live(steps=1)))
    play(store, policy, "b", 16, alone=True)
    said = StringIO()
    progress = Progress(as_json=True, stream=said)
    state = train(make_run(tmp_path / "out", first_policy, store, live(steps=2), progress=progress))
    [(count, _)] = state.running_means.values()
    assert count == 32
    [step] = steps_of(said)
    assert step["refused"] == {} and step["trained_rollouts"]
    newest = checkpoint.find_newest(tmp_path / "out" / "checkpoints")
    assert newest is not None and orjson.loads((newest / "state.json").read_bytes())["running_means"]


def test_arms_and_labels_have_means_of_their_own(
    store: SqliteStore, policy: Policy, first_policy: Path, tmp_path: Path
) -> None:
    rewards = random.Random(3)

    def reward(done: Sequence[Completion]) -> float:
        return float(rewards.random() < 0.5)

    play(store, policy, "s", 16, reward=reward, noisy=8, alone=True)
    state = train(make_run(tmp_path / "out", first_policy, store, live(steps=1)))
    assert {key: count for key, (count, _) in state.running_means.items()} == {
        "null clean": 8,
        "null noisy": 8,
    }


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"baseline": "normalised"}, "sessions without a group need baseline=running, not 'normalised'"),
        ({"whitening": "batch"}, "whitening=batch is a normalisation over more than a group"),
        ({"refill": "groups"}, "refill=groups is for groups that are compared within"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(changes: dict[str, object], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        live(**changes)


def test_grouped_sessions_are_not_taken_for_live_ones(
    store: SqliteStore, policy: Policy, first_policy: Path, tmp_path: Path
) -> None:
    play(store, policy, "g", 4)
    play(store, policy, "s", 16, alone=True)
    state = train(make_run(tmp_path / "out", first_policy, store, live(steps=1)))
    [(count, _)] = state.running_means.values()
    assert count == 16


def test_a_step_that_few_tokens_would_decide_moves_nothing_and_says_so(
    store: SqliteStore, policy: Policy, first_policy: Path, tmp_path: Path
) -> None:
    """The second step's tokens carry the first version's name, and another policy sampled them."""
    shown = {"curriculum__kind": "off", "groups_per_step": 1, "loss__importance": "sequence"}
    play(store, policy, "g0", 4)
    train(make_run(tmp_path / "out", first_policy, store, settings(steps=1, **shown)))
    play(store, model.load(write_tiny_policy(tmp_path / "other", seed=9)), "g1", 4)
    said = StringIO()
    config = settings(steps=2, minimum_effective_share=0.9999, **shown)
    progress = Progress(as_json=True, stream=said)
    state = train(make_run(tmp_path / "out", first_policy, store, config, progress=progress))
    [step] = steps_of(said)
    assert 0.2 < step["effective_share"] < 0.9999  # type: ignore[operator]
    assert step["optimiser_steps"] == 0 and state.version == "run-00001"
    assert "step 2 moved no weight: its effective sample size is" in said.getvalue()


def test_a_run_tells_the_gateway_how_far_it_is_behind(
    store: SqliteStore, policy: Policy, first_policy: Path, tmp_path: Path
) -> None:
    """32 sessions and steps of 16: after one step as many wait as a further step takes."""
    play(store, policy, "s", 32, alone=True)
    run = make_run(tmp_path / "out", first_policy, store, live(steps=1))
    train(run)
    [told] = map(Backlog.from_setting, store.settings(BACKLOG))
    assert (told.run, told.waiting, told.per_step, told.alone, told.at_work) == ("run", 16, 16, True, True)
    assert told.measure(store) == 1.0
    play(store, policy, "t", 8, alone=True)
    assert told.measure(store) == 1.5
