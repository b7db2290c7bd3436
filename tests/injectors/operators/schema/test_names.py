"""Tools' noise under the names of others, and the order in which a list is shown."""

from __future__ import annotations

import pytest

from crosswind.injectors import registry
from crosswind.injectors.profiles.load import load
from tests.injectors.operators.worked.robustbench_samples import NOTE
from tests.injectors.operators.worked.sample import seen


@pytest.mark.parametrize("name", ["MisDesc", "MisDesc-N", "TimeDesc", "TimeDesc-N"])
def test_distractors_are_shuffled_in_and_come_with_their_cue(name: str) -> None:
    orders = {
        tuple(one.name for one in seen(NOTE, f"robustbench-tc/{name}", seed).tools) for seed in range(20)
    }
    assert len(orders) >= 18
    [rule] = load(f"robustbench-tc/{name}").rules
    cue = "user.cost_cue" if name.startswith("Mis") else "user.speed_cue"
    assert [one.operator for one in rule.companions] == [cue]


@pytest.mark.parametrize(
    "alias,name",
    [
        ("paraphrase_tool_description", "schema.paraphrase_tool"),
        ("ParamPara", "schema.paraphrase_parameter"),
        ("same_name_E", "schema.duplicate_swapped"),
        ("redundant", "schema.redundant_tool"),
        ("CD", "schema.misleading_description"),
        ("CD_NT", "schema.misleading_description_neutral"),
        ("MisDesc-Abbr", "schema.misleading_description_abbreviated"),
        ("TD", "schema.misleading_time"),
        ("TimeDesc-N", "schema.misleading_time_neutral"),
        ("TD_AB", "schema.misleading_time_abbreviated"),
    ],
)
def test_the_benchmarks_code_and_display_names_are_aliases(alias: str, name: str) -> None:
    assert registry.resolve(alias).name == name
