"""A field that names other calls, values or records has a name and a form that services use."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from crosswind.injectors.conversation import ToolSchema
from crosswind.injectors.operators.words.results import (
    ACTIONS,
    HINTS,
    LINKS,
    NEXT_TOOL,
    NEXT_TOOLS,
    OTHER_MEMBERS,
    OWN_ACTIONS,
    RELATED_TOOLS,
    REMARK_LISTS,
    REMARKS,
    VERBS,
)
from tests.injectors.operators.acting import acts, outcomes, result_target, shown

NO_ARGUMENTS = {"type": "object", "properties": {}}
NAMES = {*ACTIONS, *VERBS, *LINKS, *NEXT_TOOLS, *NEXT_TOOL, *RELATED_TOOLS, *HINTS}


def _add(tool: str, result: dict[str, Any], *others: str, seeds: int = 120) -> Iterator[tuple[str, Any]]:
    """The fields that are added to a tool's result over many seeds."""
    schemas = tuple(ToolSchema(name, "", NO_ARGUMENTS) for name in (tool, *others))
    target = replace(result_target(json.dumps(result), {}), tool=tool, tools=schemas)
    for after in map(json.loads, shown("tool.misleading", target, 1.0, seeds=seeds)):
        yield from ((key, one) for key, one in after.items() if key not in result)


def _add_to_choice(tool: str, result: str, argument: str, *options: str) -> Iterator[tuple[str, Any]]:
    """The fields that are added to the result of a call that chose the last of these options."""
    chosen = {"type": "object", "properties": {argument: {"type": "string", "enum": list(options)}}}
    target = result_target(result, {argument: options[-1]})
    target = replace(target, tool=tool, tools=(ToolSchema(tool, "", chosen),))
    for after in map(json.loads, shown("tool.misleading", target, 1.0, seeds=60)):
        yield from ((key, one) for key, one in after.items() if key not in json.loads(result))


ORDER = {"order_id": 5, "price": 9.5}


def test_a_service_names_its_own_other_calls_as_the_next() -> None:
    others = ("place_order", "cancel_order", "trading_login", "start_engine", "get_user")
    names = NAMES | {one.format("order") for one in OWN_ACTIONS}
    added = list(_add("get_order_details", ORDER, *others))
    named = [json.dumps(one) for key, one in added if key in names]
    calls = [one for one in named if re.search("place|cancel", one)]
    assert 20 < len(calls) < 90
    assert not any(one in "".join(named) for one in ("login", "engine", "get_user"))


def test_no_call_is_suggested_that_the_results_state_rules_out() -> None:
    others = ("cancel_order", "modify_pending_order", "return_delivered_order", "get_order", "start_order")
    for state, wrong in (
        ("delivered", ("cancel", "modify")),
        ("pending", ("return",)),
        ("cancelled", ("cancel", "modify", "return", "start")),
        ("active", ("start",)),
    ):
        said = json.dumps([one for _, one in _add("get_order_details", ORDER | {"status": state}, *others)])
        assert "_order" in said
        assert not any(f"{one}_" in said or f'"{one}"' in said for one in wrong), (state, said)


def test_nothing_is_looked_for_after_a_booking() -> None:
    added = _add(
        "book_flight", {"flight_id": 4}, "search_flights", "get_flight_cost", "cancel_flight", "get_flight"
    )
    said = json.dumps([one for _, one in added])
    assert "search" not in said and "cost" not in said
    assert "get_flight" in said and "cancel" in said


def test_names_of_calls_begin_with_a_plain_noun_for_the_record_or_with_none_of_the_results_own() -> None:
    own = {one.format("message") for one in OWN_ACTIONS}
    found = {key for key, _ in _add("view_messages_sent", {"messages": []}, "send_message", "delete_message")}
    assert found & own
    assert not any(re.match("messages|sent|view", key) for key in found)
    pedal = {"brakePedalStatus": "pressed", "brakePedalForce": 1.0}
    pressed = list(_add("pressBrakePedal", pedal, "releaseBrakePedal"))
    assert any("releaseBrakePedal" in json.dumps(one) for _, one in pressed)
    assert not any(key.startswith("brakePedal") for key, _ in pressed)


def test_a_remarks_name_begins_with_a_word_that_it_speaks_of() -> None:
    tyres = {"tire_pressure": 32, "healthy_tire_pressure": True}
    added = list(_add("check_tire_pressure", tyres))
    named = [
        (key, str(one).lower()) for key, one in added if key.startswith(("pressure_", "tire_", "healthy"))
    ]
    assert len(named) > 5
    assert all("pressure" in text for key, text in named if key != "pressure_reference"), named
    general = {*REMARKS, *REMARK_LISTS}
    assert sum(key in general for key, _ in added) > 5


def test_no_name_is_made_of_a_word_that_is_not_english() -> None:
    result = '{"wege": [{"name": "Rheinsteig"}]}'
    added = list(_add_to_choice("suche_wege", result, "bereich", "Ost", "Nord"))
    assert len(added) > 20
    assert all("bereich" not in key for key, _ in added)
    assert {json.dumps(one) for _, one in added} == {'{"bereich": ["Ost", "Nord"]}', '{"bereich": ["Ost"]}'}


def test_what_a_call_does_is_told_in_the_tools_own_words() -> None:
    tools = (
        ToolSchema("get_order", "Get an order. Needs its id.", NO_ARGUMENTS),
        ToolSchema("cancel_order", "Cancel an order. It can't be undone.", NO_ARGUMENTS),
    )
    target = replace(result_target('{"order_id": 5}'), tool="get_order", tools=tools)
    said = "".join(shown("tool.misleading", target, 1.0, seeds=120))
    assert '"description": "Cancel an order."' in said
    assert "undone" not in said


def test_no_line_of_words_stands_beside_a_list_or_object_that_is_no_json() -> None:
    for text in ("['a b', 'c d']", "{'balance': 5, 'account': 'A1'}"):
        target = replace(result_target(text), tool="get_account_balance")
        assert set(shown("tool.misleading", target, 1.0)) == {text}
    assert outcomes("tool.misleading", "Your booking is confirmed for 12 May.")


def test_a_remark_in_an_object_has_its_sentence_there() -> None:
    found = [
        one
        for drawn in acts("tool.misleading", result_target(), seeds=200)
        if drawn is not None
        for one in json.loads(drawn[1]).values()
        if isinstance(one, dict) and one.keys() & {"type", "level", "severity", "kind", "category"}
    ]
    assert len(found) > 5
    assert all(len(one) == 2 and len(list(one.values())[1]) > 8 for one in found)


def test_a_result_names_what_the_calls_argument_can_be_by_the_schema() -> None:
    added = list(_add_to_choice("read_probe", '{"degrees": 21}', "unit", "celsius", "kelvin"))
    for key, one in added:
        told = one if re.search(r"(^|_)unit(s|_|$)", key) else one["unit"]
        other = key.partition("_")[0] in OTHER_MEMBERS
        assert told == (["celsius"] if other else ["celsius", "kelvin"])
    assert len({key for key, _ in added}) > 5


def test_the_values_of_a_priority_are_priorities() -> None:
    added = list(_add_to_choice("list_tasks", '{"tasks": 2}', "priority", "high", "low"))
    assert added
    assert all(re.search("(^|_)priorit(y_|ies$)", key) or "priority" in one for key, one in added)


def test_a_chinese_result_gets_no_english_remark() -> None:
    for text in ('{"城市": "北京", "天气": "晴"}', json.dumps({"城市": "北京", "天气": "晴"})):
        asked = replace(result_target(text, {"city": "北京"}), tool="get_weather")
        for after in map(json.loads, shown("tool.misleading", asked)):
            added = [one for key, one in after.items() if key not in ("城市", "天气")]
            assert " " not in json.dumps(added, separators=(",", ":"))
