"""The kinds of RobustBench-TC's appendix C on tools like its own: what must be kept, added or renamed.

Each property fails on a list that nothing was done to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from injectors import registry
from injectors.conversation import ToolSchema
from injectors.plan import make_plan
from injectors.profile import load
from injectors.schemas import ShownTool, ShownTools, perturb_tools


def tool(name: str, says: str, **parameters: str) -> ToolSchema:
    properties = {key: {"type": "string", "description": text} for key, text in parameters.items()}
    return ToolSchema(name, says, {"type": "object", "properties": properties, "required": list(parameters)})


SEASONS = tool(
    "get_collectables_in_season",
    "Retrieve a list of specific items in a certain game during a specified season.",
    game_name="Identify the game, such as 'Kettles 3'.",
    season="The specified season.",
)
MUTATION = tool(
    "mutation_type.find",
    "Find the type of a genetic mutation based on its SNP id.",
    snp_id="The specified SNP's id, for example rs42.",
    species="The particular species.",
)
AGENDA = tool("AddAgenda", "Creates an entry in the agenda of a specific user.", token="The provided token.")
TOOLS = (SEASONS, MUTATION, AGENDA)
NAMES = [one.name for one in TOOLS]


def shown_under(name: str, seed: int = 0) -> ShownTools:
    profile = load(f"robustbench-tc/{name}")
    plan = make_plan(profile, seed=seed, scope="group", scope_key="g", arm="noisy")
    return perturb_tools(plan, TOOLS)


def true(shown: ShownTools) -> list[ShownTool]:
    return sorted((one for one in shown.tools if one.source is not None), key=lambda one: one.source or 0)


def added(shown: ShownTools) -> list[ShownTool]:
    return [one for one in shown.tools if one.source is None]


def test_tool_para_rewords_each_description_within_a_fifth_of_its_length() -> None:
    for was, now in zip(TOOLS, true(shown_under("ToolPara")), strict=True):
        assert now.changed == {"description"}
        assert now.description is not None and now.description != was.description
        assert abs(len(now.description) - len(was.description)) <= 0.2 * len(was.description)
    assert "SNP" in str(true(shown_under("ToolPara"))[1].description)


def test_param_para_rewords_descriptions_and_keeps_types_and_values() -> None:
    for was, now in zip(TOOLS, true(shown_under("ParamPara")), strict=True):
        assert now.changed == {"parameters"}
        assert now.parameters is not None and now.parameters["required"] == was.parameters["required"]
        for key, schema in now.parameters["properties"].items():
            before = was.parameters["properties"][key]
            assert schema["type"] == before["type"] and schema["description"] != before["description"]
    properties = (true(shown_under("ParamPara"))[0].parameters or {})["properties"]
    assert "'Kettles 3'" in properties["game_name"]["description"]


Check = Callable[[ToolSchema, ShownTool], Any]


def says_nothing(was: ToolSchema, twin: ShownTool) -> bool:
    return twin.description is None


def says_its_own(was: ToolSchema, twin: ShownTool) -> bool:
    return twin.description == was.description


def says_anothers(was: ToolSchema, twin: ShownTool) -> bool:
    return twin.description in {one.description for one in TOOLS} - {was.description}


def takes_nothing(was: ToolSchema, twin: ShownTool) -> bool:
    return twin.parameters == {"type": "object", "properties": {}}


def takes_other_things(was: ToolSchema, twin: ShownTool) -> bool:
    properties = (twin.parameters or {})["properties"]
    return bool(properties) and not set(properties) & set(was.parameters["properties"])


@pytest.mark.parametrize(
    "name,says,takes",
    [
        ("Dup-NoDesc", says_nothing, takes_nothing),
        ("Dup-Desc", says_its_own, takes_nothing),
        ("Dup-WrongP", says_nothing, takes_other_things),
        ("Dup-DescWP", says_its_own, takes_other_things),
        ("Dup-SwapDP", says_anothers, takes_other_things),
    ],
)
def test_duplicates_stand_beside_each_tool_under_its_name(name: str, says: Check, takes: Check) -> None:
    shown = shown_under(name)
    assert Counter(one.name for one in shown.tools) == dict.fromkeys(NAMES, 2)
    assert not shown.phantoms and not shown.declared_of
    assert all(not one.changed for one in true(shown))
    for twin in added(shown):
        was = TOOLS[NAMES.index(twin.name)]
        assert says(was, twin) and takes(was, twin)


def test_redun_tool_adds_two_neighbours_with_other_purposes_to_each() -> None:
    shown = shown_under("RedunTool")
    assert len(added(shown)) == 2 * len(TOOLS) == len(shown.phantoms)
    assert all(one.description and (one.parameters or {})["properties"] for one in added(shown))
    joined = " ".join(shown.phantoms)
    assert joined.count("_collectables_in_season") == 2 and joined.count("mutation_type.") == 2
    assert sum(name.endswith("Agenda") for name in shown.phantoms) == 2
    assert {one.name for one in true(shown)} == set(NAMES)


@pytest.mark.parametrize(
    "name,suffix,word",
    [
        ("MisDesc", "_Budget", ("price", "cost")),
        ("MisDesc-N", "_1", ("price", "cost")),
        ("TimeDesc", "_Fast", ("time", "long", "later")),
        ("TimeDesc-N", "_1", ("time", "long", "later")),
    ],
)
def test_a_tempting_name_owns_up_in_its_description(name: str, suffix: str, word: tuple[str, ...]) -> None:
    shown = shown_under(name)
    assert set(shown.phantoms) == {own + suffix for own in NAMES}
    assert all(not one.changed for one in true(shown))
    for one in added(shown):
        was = TOOLS[NAMES.index(one.name.removesuffix(suffix))]
        assert one.description is not None and one.description.startswith(was.description)
        assert any(some in one.description for some in word) and was.name in one.description
        assert (one.parameters or {})["properties"] == was.parameters["properties"]
    orders = {tuple(one.name for one in shown_under(name, seed).tools) for seed in range(20)}
    assert len(orders) == 20, "the list is shuffled"
    cue = "user.cost_cue" if name.startswith("Mis") else "user.speed_cue"
    [rule] = load(f"robustbench-tc/{name}").rules
    assert [one.operator for one in rule.companions] == [cue]


@pytest.mark.parametrize("name", ["MisDesc-Abbr", "TimeDesc-Abbr"])
def test_the_true_tool_is_abbreviated_and_its_old_name_is_the_distractors(name: str) -> None:
    shown = shown_under(name)
    assert set(shown.phantoms) == set(NAMES)
    assert shown.shown_of == {
        "get_collectables_in_season": "get_col_in_sea",
        "mutation_type.find": "mut_type.find",
        "AddAgenda": "AddAge",
    }
    assert all(one.changed == {"name"} for one in true(shown))
    assert len(load(f"robustbench-tc/{name}").rules) == 1


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
