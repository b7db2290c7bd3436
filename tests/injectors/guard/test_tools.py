"""What may not become of a list of tools, and parameters that are odd."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from crosswind.injectors.conversation import ToolSchema
from crosswind.injectors.engine.tools import perturb_tools
from crosswind.injectors.guard import tools as tool_guard
from crosswind.injectors.guard.tools import ToolConstraints
from tests.injectors.engine.test_tools import (
    GET_ORDER,
    OPERATORS,
    RENAMING,
    SHOP,
    check_closed_world,
    stored,
    tool,
)
from tests.injectors.plans import plan_with


@pytest.mark.parametrize(
    "operator,options,words",
    [
        ("schema.type_mismatch", {"strict": GET_ORDER}, "holds calls of get_order to its schema"),
        ("schema.duplicate_no_description", {"forced": GET_ORDER}, "tool_choice names get_order"),
        (RENAMING, {"choices": 2}, "several choices"),
    ],
)
def test_the_guard_withholds_what_it_can_not_vouch_for(
    operator: str, options: dict[str, Any], words: str
) -> None:
    shown = perturb_tools(plan_with(operator), SHOP[:1], ToolConstraints(**options))
    assert shown.untouched
    assert [one.after for one in shown.injections] == [None]
    assert words in shown.injections[0].note


def test_a_duplicate_stands_beside_a_write_only_where_the_write_would_refuse_its_calls() -> None:
    anything = ToolSchema("wipe_disk", "Wipes a disk.", {"type": "object", "properties": {}})
    refused = perturb_tools(plan_with("same_name_A"), [anything])
    assert refused.untouched and "takes calls that follow the duplicate" in refused.injections[0].note
    replayable = plan_with("same_name_A", more="assume_tools: replayable")
    assert perturb_tools(replayable, [anything]).untouched, "whatever the profile assumes"
    assert not perturb_tools(plan_with("same_name_A"), SHOP[2:]).untouched


@pytest.mark.parametrize("assumed", ["declared", "replayable"])
@pytest.mark.parametrize("operator", ["schema.duplicate_swapped", "schema.duplicate_wrong_parameters"])
def test_only_a_read_lends_its_name_to_another_tool(operator: str, assumed: str) -> None:
    """`rm` under "Create a new file" was run by a policy that wanted a new file."""
    remove, touch = tool("rm", file_name="string"), tool("touch", file_name="string")
    files = [replace(remove, description="Remove a file."), replace(touch, description="Create a new file.")]
    more = f"assume_tools: {assumed}\ntool_classes: {{rm: destructive, touch: idempotent}}"
    shown = perturb_tools(plan_with(operator, more=more), files)
    assert shown.untouched and len(shown.injections) == 2
    assert all("would run it" in one.note and one.after is None for one in shown.injections)
    reads = plan_with(operator, more="tool_classes: {rm: read_only, touch: read_only}")
    assert not perturb_tools(reads, files).untouched


def test_no_list_is_longer_than_providers_take() -> None:
    many = [tool(f"get_thing_{number}", n="integer") for number in range(127)]
    shown = perturb_tools(plan_with("same_name_A"), many)
    assert len(shown.tools) == tool_guard.MOST_TOOLS
    assert sum(one.after is None for one in shown.injections) == 126
    beside_one_of_the_providers = perturb_tools(
        plan_with("same_name_A"), many, ToolConstraints(taken=frozenset({"web_search"}))
    )
    assert len(beside_one_of_the_providers.tools) == len(many)


def nested(levels: int) -> Any:
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"inner": schema}}
    return schema


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"type": "object"},
        {"type": "object", "properties": None, "required": 3},
        {"type": "object", "properties": [1, 2]},
        {"properties": {"a": 3, "b": None, "description": {"type": "string", "description": "Get it."}}},
        {"type": ["object", "null"], "properties": {"a": {"type": ["string", "null"]}}},
        {"$ref": "#/$defs/x", "$defs": {"x": {"description": 3}}},
        nested(20),
        nested(900),
        nested(5000),
    ],
    ids=lambda parameters: str(parameters)[:24] if len(parameters) < 2 else "",
)
def test_odd_parameters_are_survived(parameters: dict[str, Any]) -> None:
    tools = [ToolSchema("get_order", "Get an order.", parameters), SHOP[1]]
    for operator in OPERATORS:
        shown = perturb_tools(plan_with(operator), tools)
        check_closed_world(tools, shown)
        assert stored(shown).tools == shown.tools
