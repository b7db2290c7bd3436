"""What a benchmark and a run of groups will play is known beforehand."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosswind.simulators.benchmark import results, suites
from crosswind.simulators.benchmark.suites import NoiseArm, Suite, parse_noise
from crosswind.simulators.environment import Verdict, load
from crosswind.simulators.episodes import groups
from crosswind.simulators.episodes.record import Record

RETAIL = load("retail")
NOISE = (NoiseArm("tool.timeout", 3), NoiseArm("user.typos"))


def test_every_task_is_played_in_calm_and_under_every_noise_with_the_same_wording_and_seeds() -> None:
    jobs = list(
        suites.jobs(RETAIL, Suite("test", "practice", 14, 2, seed=1, profile="noisyagent", noise=NOISE))
    )
    assert len(jobs) == 14 * 2 * 3
    arms = Counter(str(job.session.get("noise_type", job.session["arm"])) for job in jobs)
    assert arms == {"clean": 28, "tool.timeout": 28, "user.typos": 28}
    by_sample = {(job.task.id, job.session["rollout_index"]) for job in jobs}
    assert len({(job.task.id, job.seed_key) for job in jobs}) == len(by_sample) == 28
    assert all(job.session["seed_scope"] == "task" for job in jobs)
    levels = {
        job.session["noise_type"]: job.session.get("level") for job in jobs if "noise_type" in job.session
    }
    assert levels == {"tool.timeout": 3, "user.typos": None}


def test_rotation_gives_each_task_one_noise_type_in_turn() -> None:
    jobs = list(suites.jobs(RETAIL, Suite("test", "practice", 10, 1, seed=1, noise=NOISE, rotate=True)))
    arms = Counter(str(job.session.get("noise_type", job.session["arm"])) for job in jobs)
    assert arms == {"clean": 10, "tool.timeout": 5, "user.typos": 5}


def test_whole_profiles_are_arms_of_their_own_and_calm_can_be_left_out() -> None:
    under = (NoiseArm(profile="chaos/brownout"), NoiseArm(profile="toolrl-dr/full"))
    jobs = list(suites.jobs(RETAIL, Suite("test", "practice", 10, 2, seed=1, noise=under, calm=False)))
    records = [Record(job, str(job.session["arm"]), verdict=Verdict(1.0)) for job in jobs]
    assert {name: arm["n"] for name, arm in results.arms(records).items()} == {
        "chaos/brownout": 20,
        "toolrl-dr/full": 20,
        "noisy": 40,
    }
    assert not any("noise_type" in job.session or "level" in job.session for job in jobs)
    assert len({(job.task.id, job.session["seed"]) for job in jobs}) == 20, "the arms share their seeds"


def test_noise_draws_from_the_half_of_the_packs_that_is_asked_for_and_calm_from_none() -> None:
    jobs = list(suites.jobs(RETAIL, Suite("test", "practice", 3, 1, seed=1, noise=NOISE, phrases="test")))
    assert {(job.session["arm"], job.session.get("phrases")) for job in jobs} == {
        ("clean", None),
        ("noisy", "test"),
    }


def test_groups_are_numbered_and_can_be_continued() -> None:
    whole = list(groups.jobs(RETAIL, groups.GroupPlan("train", "practice", 4, 3, groups=5)))
    rest = list(groups.jobs(RETAIL, groups.GroupPlan("train", "practice", 4, 3, first=2, groups=3)))
    assert whole[6:] == rest
    assert [job.session["group_id"] for job in whole[::3]] == [f"train-4-{number:05d}" for number in range(5)]
    for job in whole:
        assert job.session["group_size"] == 3 and job.session["arm"] == "auto"
        assert set(job.session["labels"]) == {"purpose", "environment", "split", "kind", "run"}
    for start in range(0, 15, 3):
        group = whole[start : start + 3]
        assert len({(job.task.id, job.episode_seed) for job in group}) == 1
        assert len({job.seed_key for job in group}) == 3


def test_groups_without_a_number_have_no_end() -> None:
    endless = groups.jobs(RETAIL, groups.GroupPlan("train", "practice", 0, 2))
    assert len(list(islice(endless, 500))) == 500


@given(
    arms=st.lists(
        st.builds(NoiseArm, st.sampled_from(["tool.timeout", "user.typos"]), st.none() | st.integers(0, 9))
    )
)
def test_noise_reads_back(arms: list[NoiseArm]) -> None:
    text = ",".join(arm.noise_type if arm.level is None else f"{arm.noise_type}@{arm.level}" for arm in arms)
    assert parse_noise(text) == tuple(arms)


@pytest.mark.parametrize("bad", ["@3", "tool.timeout@", "tool.timeout@high", "a@1,@2"])
def test_noise_that_cannot_be_read_is_named(bad: str) -> None:
    with pytest.raises(ValueError, match="TYPE@LEVEL"):
        parse_noise(bad)
