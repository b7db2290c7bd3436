"""Who gets which noise under a curriculum."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosswind.injectors.engine.curriculum import Curriculum, TypeState, assign
from crosswind.injectors.engine.plan import Assignment

TYPES = {
    "user.typos": TypeState(1, 0.1),
    "tool.timeout": TypeState(3, 0.3),
    "tool.incomplete": TypeState(2, 0.1),
}

curricula = st.builds(
    Curriculum,
    version=st.integers(1, 9),
    profile=st.just("noisyagent"),
    rho=st.floats(0, 1),
    group_share=st.sampled_from([0.0, 0.5, 1.0]),
    types=st.dictionaries(
        st.sampled_from(list(TYPES)),
        st.builds(TypeState, st.integers(0, 5), st.sampled_from([0.0, 0.1, 0.4])),
    ),
)


def group(curriculum: Curriculum, size: int, group_id: str = "g", seed: int = 0) -> list[Assignment]:
    return [
        assign(curriculum, seed=seed, group_id=group_id, rollout_index=index, group_size=size)
        for index in range(size)
    ]


@settings(max_examples=150, deadline=None)
@given(curriculum=curricula, size=st.integers(1, 16), seed=st.integers(0, 99))
def test_a_noisy_arm_has_none_or_at_least_two(curriculum: Curriculum, size: int, seed: int) -> None:
    given_out = group(curriculum, size, seed=seed)
    noisy = [one for one in given_out if one.arm == "noisy"]
    assert len(noisy) != 1
    assert given_out == group(curriculum, size, seed=seed)
    for one in given_out:
        state = curriculum.types.get(one.noise_type or "")
        if one.arm == "clean" or not curriculum.types:
            assert (one.noise_type, one.level) == (None, None)
        else:
            assert state is not None
            assert one.level == state.level > 0 < state.share


@pytest.mark.parametrize("rho,size", [(0.05, 8), (0.25, 4), (0.3, 8), (0.5, 8), (0.45, 5), (1.0, 4)])
def test_the_noisy_share_is_rho_on_average(rho: float, size: int) -> None:
    curriculum = Curriculum(1, "noisyagent", rho=rho)
    counts = [sum(one.arm == "noisy" for one in group(curriculum, size, f"g{at}")) for at in range(1500)]
    assert abs(sum(counts) / len(counts) - rho * size) < 0.1
    assert max(counts) - min(counts) <= (2 if rho * size < 2 else 1)


def test_types_are_given_out_by_their_shares() -> None:
    curriculum = Curriculum(1, "noisyagent", rho=0.5, types=TYPES)
    found = Counter(
        one.noise_type for at in range(600) for one in group(curriculum, 8, f"g{at}") if one.noise_type
    )
    total = found.total()
    assert abs(found["tool.timeout"] / total - 0.6) < 0.05
    assert abs(found["user.typos"] / total - 0.2) < 0.05


def test_types_of_one_group_follow_the_shares_as_closely_as_they_can() -> None:
    curriculum = Curriculum(1, "noisyagent", rho=1.0, types=TYPES)
    for at in range(50):
        found = Counter(one.noise_type for one in group(curriculum, 10, f"g{at}"))
        assert found == {"tool.timeout": 6, "user.typos": 2, "tool.incomplete": 2}


def test_every_place_in_a_group_may_be_noisy() -> None:
    curriculum = Curriculum(1, "noisyagent", rho=0.5)
    places = Counter(
        index
        for at in range(200)
        for index, one in enumerate(group(curriculum, 4, f"g{at}"))
        if one.arm == "noisy"
    )
    assert all(70 < places[index] < 130 for index in range(4))


def test_a_share_of_groups_is_noisy_and_then_whole() -> None:
    mixed = Curriculum(1, "noisyagent", rho=1.0, group_share=0.5, advantages="group", seed_scope="group")
    groups = [{one.arm for one in group(mixed, 4, f"g{at}")} for at in range(400)]
    assert all(len(arms) == 1 for arms in groups)
    assert 160 < sum(arms == {"noisy"} for arms in groups) < 240


def test_types_without_level_or_share_are_not_given_out() -> None:
    curriculum = Curriculum(1, "noisyagent", rho=1.0, types={"user.typos": TypeState(0, 1.0)})
    assert {one.arm for one in group(curriculum, 4)} == {"clean"}


def test_an_index_outside_of_its_group_is_an_error() -> None:
    with pytest.raises(ValueError, match="rollout_index 4 isn't in a group of group_size 4"):
        assign(Curriculum(1, "off"), seed=0, group_id="g", rollout_index=4, group_size=4)


@given(curriculum=curricula)
def test_a_curriculum_survives_its_json(curriculum: Curriculum) -> None:
    assert Curriculum.from_json(json.loads(json.dumps(curriculum.to_json()))) == curriculum


@pytest.mark.parametrize(
    "change,words",
    [
        ({"rho": 1.5}, "rho"),
        ({"rh": 0.5}, "did you mean 'rho'"),
        ({"advantages": "both"}, "advantages"),
        ({"types": {"user.typos": {"level": -1, "share": 0.1}}}, "level"),
        ({"version": None}, "version"),
    ],
)
def test_a_wrong_curriculum_is_an_error_that_names_the_field(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Curriculum.from_json({"version": 1, "profile": "noisyagent"} | change)


def test_one_type_for_all_of_a_group_is_drawn_by_the_shares() -> None:
    curriculum = Curriculum(1, "noisyagent", rho=0.5, types_per_group=1, types=TYPES, at_least_one=True)
    drawn: Counter[str] = Counter()
    for number in range(500):
        noisy = [one for one in group(curriculum, 8, f"g{number}") if one.arm == "noisy"]
        assert len({(one.noise_type, one.level) for one in noisy}) == 1 and len(noisy) == 4
        assert all(one.at_least_one for one in noisy)
        drawn[str(noisy[0].noise_type)] += 1
    assert drawn["tool.timeout"] / 500 == pytest.approx(0.6, abs=0.08)
    assert drawn["user.typos"] / 500 == pytest.approx(0.2, abs=0.08)
