"""What holds of a perturbed list of tools, whatever its operators are."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema_rs import meta

from crosswind.injectors import registry
from crosswind.injectors.conversation import Site, ToolSchema
from crosswind.injectors.engine.plan import Plan
from crosswind.injectors.engine.tools import ShownTools, perturb_tools
from crosswind.injectors.guard import tools as tool_guard
from crosswind.injectors.guard.tools import ToolConstraints
from tests.injectors.plans import plan_with

OPERATORS = [entry.name for entry in registry.operators().values() if entry.site is Site.TOOL_SCHEMA]
RENAMING = "schema.misleading_description_abbreviated"


def tool(name: str, description: str = "Looks things up.", **types: str) -> ToolSchema:
    properties = {parameter: {"type": kind} for parameter, kind in types.items()}
    return ToolSchema(
        name, description, {"type": "object", "properties": properties, "required": list(types)}
    )


SHOP = (
    tool("get_order", "Look an order up.", order_id="string"),
    tool("search_products", "Find products by name.", query="string", limit="integer"),
    tool("cancel_order", "Cancel an order for good.", order_id="string", confirm="boolean"),
)

_words = st.sampled_from(
    ["get", "order", "search", "products", "country", "info", "capital", "find", "a", "Cart"]
)
_names = st.one_of(
    st.builds("_".join, st.lists(_words, min_size=1, max_size=4)),
    st.builds(".".join, st.lists(_words, min_size=1, max_size=3)),
    st.from_regex(r"[a-zA-Z0-9_-]{1,64}", fullmatch=True),
)
_kinds = st.sampled_from(["string", "integer", "number", "boolean", "array", "object"])
_tools = st.builds(
    lambda name, says, types: tool(name, says, **types),
    _names,
    st.one_of(
        st.sampled_from(["", "Look an order up.", "Get the capital of a country"]), st.text(max_size=40)
    ),
    st.dictionaries(st.from_regex(r"[a-z]{1,8}", fullmatch=True), _kinds, max_size=4),
)
tool_lists = st.lists(_tools, max_size=6)
plans = st.builds(
    lambda operators, seed, severity: plan_with(*operators, seed=seed, severity=severity),
    st.lists(st.sampled_from(OPERATORS), min_size=1, max_size=5, unique=True),
    st.integers(0, 1000),
    st.sampled_from([0.3, 0.7, 1.0]),
)
policies = st.sampled_from(["allowed", "suffixed"])


def stored(shown: ShownTools) -> ShownTools:
    """What another worker reads in the ledger."""
    return ShownTools.from_json(json.loads(json.dumps(shown.to_json())))


def true_names(shown: ShownTools) -> dict[int, str]:
    return {one.source: one.name for one in shown.tools if one.source is not None}


def check_closed_world(tools: list[ToolSchema], shown: ShownTools) -> None:
    """Each declared tool is there once, and each shown name leads to it or to a phantom, never to both."""
    assert sorted(true_names(shown)) == list(range(len(tools)))
    assert sum(one.source is not None for one in shown.tools) == len(tools)
    for source, name in true_names(shown).items():
        assert shown.declared_of.get(name, name) == tools[source].name
        assert shown.shown_of.get(tools[source].name, tools[source].name) == name
        assert name not in shown.phantoms
    assert len(set(shown.shown_of.values())) == len(shown.shown_of)
    declared = {one.name for one in tools}
    for one in shown.tools:
        leads_to = shown.declared_of.get(one.name, one.name)
        assert one.name in shown.phantoms or leads_to in declared
    assert {one.name for one in shown.tools} >= set(shown.phantoms)
    assert all(phantom.answer(calls) for phantom in shown.phantoms.values() for calls in range(3))
    assert set(shown.refusals) <= set(true_names(shown).values())


def check_what_providers_take(tools: list[ToolSchema], shown: ShownTools) -> None:
    declared = {one.name for one in tools}
    for one in shown.tools:
        if one.parameters is not None:
            assert meta.is_valid(dict(one.parameters))
        if one.name not in declared and all(tool_guard.NAME.fullmatch(name) for name in declared):
            assert tool_guard.NAME.fullmatch(one.name)
    assert len(shown.tools) <= max(tool_guard.MOST_TOOLS, len(tools))


@settings(max_examples=150, deadline=None)
@given(tools=tool_lists, plan=plans, duplicates=policies)
def test_the_world_stays_closed_and_the_ledger_shows_the_same_again(
    tools: list[ToolSchema], plan: Plan, duplicates: str
) -> None:
    shown = perturb_tools(plan, tools, ToolConstraints(duplicates=duplicates))
    assert shown == perturb_tools(plan, tools, ToolConstraints(duplicates=duplicates))
    check_closed_world(tools, shown)
    check_what_providers_take(tools, shown)
    if duplicates == "suffixed" and len({one.name for one in tools}) == len(tools):
        assert len({one.name for one in shown.tools}) == len(shown.tools)
    again = perturb_tools(plan, tools, ToolConstraints(duplicates=duplicates), known=stored(shown))
    assert again == stored(shown)
    assert again.injections == ()


@settings(max_examples=100, deadline=None)
@given(
    tools=st.lists(_tools, min_size=1, max_size=6, unique_by=lambda one: one.name), plan=plans, data=st.data()
)
def test_what_was_shown_of_a_tool_stays_when_others_come_and_go(
    tools: list[ToolSchema], plan: Plan, data: st.DataObject
) -> None:
    first = data.draw(st.lists(st.sampled_from(tools), unique_by=lambda one: one.name))
    before = perturb_tools(plan, first)
    after = perturb_tools(plan, tools, known=stored(before))
    check_closed_world(tools, after)
    names = {one.name for one in tools}
    for source, name in true_names(before).items():
        at = tools.index(first[source])
        was = next(one for one in before.tools if one.source == source)
        now = next(one for one in after.tools if one.source == at)
        assert now.name == name or name in names
        assert (now.description, now.parameters) == (was.description, was.parameters)
    back = perturb_tools(plan, first, known=stored(after))
    assert back.injections == ()
    assert {one.name for one in back.tools} == {one.name for one in before.tools} or not first


@settings(max_examples=60, deadline=None)
@given(tools=tool_lists, plan=plans, choices=st.integers(2, 3))
def test_several_choices_get_no_tool_that_needs_an_answer_inside(
    tools: list[ToolSchema], plan: Plan, choices: int
) -> None:
    several = ToolConstraints(choices=choices)
    fresh = perturb_tools(plan, tools, several)
    known = perturb_tools(plan, tools)
    for shown in (fresh, perturb_tools(plan, tools, known=stored(known), constraints=several)):
        check_closed_world(tools, shown)
        assert len(shown.tools) == len(tools)
        assert not shown.phantoms and not shown.refusals
    after = perturb_tools(plan, tools, known=perturb_tools(plan, tools, known=known, constraints=several))
    assert after.tools == known.tools


@settings(max_examples=60, deadline=None)
@given(tools=tool_lists, plan=plans)
def test_a_tool_that_tool_choice_names_is_shown_once_and_with_its_own_types(
    tools: list[ToolSchema], plan: Plan
) -> None:
    forced = frozenset(one.name for one in tools[:1])
    known = perturb_tools(plan, tools)
    for before in (None, stored(known)):
        shown = perturb_tools(plan, tools, known=before, constraints=ToolConstraints(forced=forced))
        check_closed_world(tools, shown)
        for name in forced:
            callable_as = shown.shown_of.get(name, name)
            assert callable_as not in shown.refusals
            declared = [one.source for one in shown.tools if one.name == callable_as]
            assert declared.count(None) == 0
    assert perturb_tools(plan, tools, known=stored(known)).tools == known.tools


@settings(max_examples=60, deadline=None)
@given(tools=tool_lists, plan=plans)
def test_where_nothing_new_is_allowed_new_tools_are_shown_clean_for_good(
    tools: list[ToolSchema], plan: Plan
) -> None:
    shown = perturb_tools(plan, tools, allow_new=False)
    assert shown.untouched and shown.injections == ()
    assert perturb_tools(plan, tools, known=stored(shown)).untouched


def test_the_anchor_looks_at_what_a_tool_says_and_not_at_the_order_of_its_keys() -> None:
    turned = [ToolSchema(one.name, one.description, dict(reversed(one.parameters.items()))) for one in SHOP]
    plan = plan_with(*OPERATORS)
    shown = perturb_tools(plan, SHOP)
    assert perturb_tools(plan, turned, known=shown).tools == shown.tools
    other = [ToolSchema(SHOP[0].name, "Else.", SHOP[0].parameters), *SHOP[1:]]
    assert perturb_tools(plan, other, known=shown).anchor != shown.anchor


def test_without_rules_for_tools_the_list_is_as_it_was() -> None:
    assert perturb_tools(plan_with("tool.timeout"), SHOP) == ShownTools.clean(SHOP)
    assert perturb_tools(plan_with(*OPERATORS), ()) == ShownTools.clean(())


def test_a_call_of_the_old_full_name_is_the_distractors() -> None:
    shown = perturb_tools(plan_with(RENAMING), SHOP)
    assert shown.declared_of == {
        "get_ord": "get_order",
        "srch_prods": "search_products",
        "cncl_ord": "cancel_order",
    }
    assert set(shown.phantoms) == {"get_order", "search_products", "cancel_order"}
    assert "not enabled" in shown.phantoms["get_order"].answer(0)


def test_a_name_that_the_client_declares_later_is_the_clients() -> None:
    plan = plan_with(RENAMING)
    before = perturb_tools(plan, SHOP[:1])
    assert before.declared_of == {"get_ord": "get_order"}
    after = perturb_tools(plan, [SHOP[0], tool("get_ord", "Another one.", n="integer")], known=before)
    assert after.shown_of.get("get_order", "get_order") == "get_order"
    assert "get_ord" not in after.declared_of
    assert "get_order" not in after.phantoms


def test_the_first_call_with_the_wrong_type_is_told_the_right_one() -> None:
    shown = perturb_tools(plan_with("schema.type_mismatch"), SHOP)
    refusal = shown.refusals["search_products"]
    assert refusal.takes == {"query": "string", "limit": "integer"}
    assert refusal.objection('{"query": "kettle", "limit": 3}') is None
    objection = refusal.objection('{"query": "kettle", "limit": "3"}')
    assert objection is not None and "must be of type integer, but string was given" in objection
    assert refusal.objection("no JSON") is None


GET_ORDER = frozenset({"get_order"})


def test_schedules_and_scope_count_the_declared_tools() -> None:
    def hit(when: str, **options: Any) -> list[str]:
        shown = perturb_tools(plan_with("same_name_A", when=when), SHOP, **options)
        return [one.tool or "" for one in shown.injections]

    assert hit("{first_call: true}") == ["get_order"]
    assert hit("{every: 2}") == ["search_products"]
    assert hit("{at_most: 2}") == ["get_order", "search_products"]
    assert hit("{start: 1}") == []
    assert len(hit("{start: 1}", turn=1)) == 3
