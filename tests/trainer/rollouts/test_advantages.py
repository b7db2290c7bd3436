from __future__ import annotations

from itertools import pairwise
from math import isclose, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosswind.trainer.rollouts.advantages import centre, leave_one_out, normalise, normalise_per_arm, whiten

rewards = st.floats(-10, 10).map(lambda value: round(value, 3))
rollouts = st.lists(st.tuples(st.sampled_from(["clean", "noisy"]), rewards), max_size=24)


@given(rollouts)
def test_each_arm_has_mean_zero_and_deviation_one_or_is_all_zero(drawn: list[tuple[str, float]]) -> None:
    values = normalise_per_arm([reward for _, reward in drawn], [arm for arm, _ in drawn])
    for arm in ("clean", "noisy"):
        own = [value for value, (name, _) in zip(values, drawn, strict=True) if name == arm]
        given_rewards = [reward for name, reward in drawn if name == arm]
        if len(own) < 2 or len(set(given_rewards)) == 1:
            assert own == [0.0] * len(own)
        else:
            assert isclose(sum(own), 0.0, abs_tol=1e-6)
            assert isclose(sqrt(sum(value * value for value in own) / len(own)), 1.0, rel_tol=1e-6)


@given(rollouts, st.lists(rewards, min_size=24, max_size=24))
def test_an_arm_is_untouched_by_the_other_ones_rewards(
    drawn: list[tuple[str, float]], others: list[float]
) -> None:
    arms = [arm for arm, _ in drawn]
    before = normalise_per_arm([reward for _, reward in drawn], arms)
    changed = [
        other if arm == "noisy" else reward for (arm, reward), other in zip(drawn, others, strict=False)
    ]
    after = normalise_per_arm(changed, arms)
    for arm, one, two in zip(arms, before, after, strict=True):
        assert arm == "noisy" or one == two


def test_equation_9_by_hand() -> None:
    values = normalise_per_arm([1.0, 0.0, 1.0, 1.0, 5.0, 5.0, 7.0], ["c", "c", "c", "c", "n", "n", "m"])
    deviation = sqrt(3 / 16)
    assert values == pytest.approx([0.25 / deviation, -0.75 / deviation, *[0.25 / deviation] * 2, 0, 0, 0])


def test_normalising_over_the_group_mixes_the_arms() -> None:
    assert normalise([1.0, 1.0, 0.0, 0.0]) == [1.0, 1.0, -1.0, -1.0]
    assert normalise_per_arm([1.0, 1.0, 0.0, 0.0], ["clean", "clean", "noisy", "noisy"]) == [0.0] * 4


@given(st.lists(rewards, max_size=12))
def test_centring_takes_the_mean_away_and_nothing_else(values: list[float]) -> None:
    out = centre(values)
    assert isclose(sum(out), 0.0, abs_tol=1e-6)
    for one, other in pairwise(range(len(values))):
        assert isclose(out[one] - out[other], values[one] - values[other], abs_tol=1e-9)


@given(st.lists(rewards, min_size=2, max_size=12).filter(lambda values: max(values) - min(values) > 1e-3))
def test_leaving_one_out_compares_each_with_the_mean_of_the_others(values: list[float]) -> None:
    for index, value in enumerate(leave_one_out(values)):
        others = values[:index] + values[index + 1 :]
        assert isclose(value, values[index] - sum(others) / len(others), abs_tol=1e-9)


def test_a_reward_alone_is_compared_with_nothing() -> None:
    assert leave_one_out([3.0]) == [0.0]


@given(st.dictionaries(st.text(max_size=3), st.lists(rewards, max_size=5), max_size=6))
def test_whitening_normalises_over_all_groups_and_keeps_their_shape(groups: dict[str, list[float]]) -> None:
    out = whiten(groups)
    assert {name: len(values) for name, values in out.items()} == {
        name: len(values) for name, values in groups.items()
    }
    assert [value for values in out.values() for value in values] == normalise(
        [value for values in groups.values() for value in values]
    )


def test_arms_must_match_rewards() -> None:
    with pytest.raises(ValueError, match="an arm for each reward, not 1 for 2"):
        normalise_per_arm([1.0, 0.0], ["clean"])


@pytest.mark.parametrize(
    "equal", [[0.1 + 0.2, 0.3, 0.3], [1e-10, 0.0, 0.0], [1e6 + 1e-3, 1e6, 1e6], [-(0.1 + 0.2), -0.3]]
)
def test_rewards_that_are_equal_up_to_rounding_have_no_advantage(equal: list[float]) -> None:
    assert normalise(equal) == centre(equal) == [0.0] * len(equal)
    assert normalise_per_arm(equal, ["noisy"] * len(equal)) == [0.0] * len(equal)


def test_small_rewards_that_differ_have_advantages() -> None:
    assert normalise([1e-3, 0.0]) == [1.0, -1.0]
    assert normalise([1000.01, 1000.0])[0] == pytest.approx(1.0)
