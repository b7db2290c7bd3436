"""Every example of both appendices comes out in its kind, and doing nothing would not do."""

from __future__ import annotations

import pytest

from crosswind.injectors.profiles.load import names
from tests.injectors.operators.worked import agentnoisebench, robustbench_tc
from tests.injectors.operators.worked.properties import Example
from tests.injectors.operators.worked.sample import view

SEEDS = 12
EXAMPLES = (*agentnoisebench.EXAMPLES, *robustbench_tc.EXAMPLES)
examples = pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.row)


@examples
def test_the_example_comes_out_in_kind(example: Example) -> None:
    clean = view(example.sample, "off")
    for seed in range(SEEDS):
        noisy = view(example.sample, example.noise, seed)
        missing = [one.what for one in example.properties if not one.holds(clean, noisy)]
        assert not missing, (missing, noisy)


@examples
def test_each_property_fails_where_nothing_is_done(example: Example) -> None:
    clean = view(example.sample, "off")
    held = [one.what for one in example.properties if one.holds(clean, clean)]
    assert not held and len(example.properties) >= 2, held


@examples
def test_where_solvability_wins_it_is_one_of_the_properties(example: Example) -> None:
    what = [one.what for one in example.properties]
    held = any("solvable" in one or "every" in one for one in what)
    assert held or not example.solvability, what


@pytest.mark.parametrize("row", ["MisDesc", "MisDesc-N", "TimeDesc", "TimeDesc-N"])
def test_distractors_are_shuffled_in(row: str) -> None:
    views = [view(robustbench_tc.NOTE, f"robustbench-tc/{row}", seed) for seed in range(20)]
    assert len({tuple(one.name for one in found.tools) for found in views}) >= 15, "of 20 among 720 orders"


def test_no_example_of_the_papers_is_left_out() -> None:
    assert len(agentnoisebench.EXAMPLES) == 10
    shown = {f"robustbench-tc/{example.row}" for example in robustbench_tc.EXAMPLES}
    components = {f"robustbench-tc/{one}" for one in ("observation", "action", "reward", "transition")}
    built_in = {name for name in names() if name.startswith("robustbench-tc/")}
    assert shown == built_in - components and components < built_in and len(shown) == 22
