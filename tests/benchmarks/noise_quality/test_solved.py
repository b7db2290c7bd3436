"""What counts as solved."""

from __future__ import annotations

from benchmarks.noise_quality.aims import judge_solvability
from benchmarks.noise_quality.solved import Solved


def test_solvability_is_met_where_all_is_solved_and_each_profile_injects() -> None:
    rows = [Solved("off", None, 5, 4, 0), Solved("a", 1, 5, 5, 9), Solved("a", 0, 5, 5, 0)]
    assert judge_solvability(rows).met
    assert not judge_solvability([*rows, Solved("b", None, 5, 5, 0)]).met
    assert not judge_solvability([*rows, Solved("b", None, 5, 4, 7, 0, ["x"])]).met
    assert judge_solvability([]).met is None
