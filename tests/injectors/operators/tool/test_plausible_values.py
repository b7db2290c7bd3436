"""False values as a tool would give them: as round as the true ones, of its own words, within a whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from crosswind.injectors.conversation import Ref, ToolCall, ToolResult, ToolSchema
from crosswind.injectors.operators.tool.false_values.false_figures import move_figure
from crosswind.injectors.operators.tool.result_facts import find_facts
from crosswind.injectors.targets import Branch, ToolClass, ToolResultTarget
from tests.injectors.operators.acting import acts

FALSE = ("tool.erroneous", "tool.fabricated_observation")
INEXACT = ("tool.misread", "tool.numeric_noise")


def _states(name: str, *options: str) -> ToolSchema:
    return ToolSchema(name, "", {"properties": {"status": {"type": "string", "enum": list(options)}}})


RAMP = (
    _states("update_flight", "scheduled", "on block", "loading", "off block"),
    _states("report_stand", "free", "open", "blocked"),
)


def _target(tool: str, value: object, **changes: Any) -> ToolResultTarget:
    return replace(
        ToolResultTarget(json.dumps(value), 0, tool, "{}", ToolClass.READ_ONLY, tools=RAMP), **changes
    )


def _seen(name: str, target: ToolResultTarget, seeds: int = 60) -> Iterator[Any]:
    return (json.loads(one[1]) for one in acts(name, target, seeds=seeds) if one is not None)


@pytest.mark.parametrize("name", [*FALSE, "tool.misread", "tool.stale_resource"])
@pytest.mark.parametrize(
    ("tool", "value"),
    [
        ("get_baggage", {"batch": "B-1", "status": "loading"}),
        ("get_equipment", {"unit": "GPU-2", "status": "free"}),
        ("get_flight", {"flight": "AC1", "equipment": [{"unit": "GPU-2", "status": "free"}]}),
    ],
)
def test_the_states_of_another_kind_of_thing_are_not_this_ones(name: str, tool: str, value: Any) -> None:
    for noisy in _seen(name, _target(tool, value)):
        assert not {"on block", "off block", "open", "blocked"}.intersection(json.dumps(noisy).split('"'))


def test_the_states_of_the_same_kind_of_thing_are() -> None:
    said = {one["status"] for one in _seen("tool.erroneous", _target("get_flight", {"status": "loading"}))}
    assert said == {"scheduled", "on block", "off block"}


def test_what_another_tool_said_earlier_is_no_state_of_this_thing() -> None:
    before = ToolResult(Ref(0), '{"status": "towed"}', "a", 0, ToolCall("c", "get_aircraft", "{}"), "g{}")
    bag = _target("get_baggage", {"status": "rushed", "weight": 3.5}, branch=Branch(earlier=(before,)))
    assert all(one["status"] == "rushed" for one in _seen("tool.erroneous", bag))
    aircraft = replace(bag, tool="get_aircraft")
    assert any(one["status"] == "towed" for one in _seen("tool.erroneous", aircraft))


@pytest.mark.parametrize(
    ("field", "text", "step"),
    [
        ("discount_percent", "70", 5),
        ("discount_percent", "15", 5),
        ("rabatt_prozent", "50", 5),
        ("humidity_percent", "65", 5),
        ("visibility", "1800", 100),
        ("visibility", "9000", 100),
        ("fuel_price", "40.0", 5),
        ("minutes", "120", 5),
        ("area", "850", 10),
        ("seats", "1250", 10),
    ],
)
@pytest.mark.parametrize("factor", [0.7, 0.96, 1.04, 1.4])
def test_a_false_figure_is_as_round_as_the_true_one(field: str, text: str, step: int, factor: float) -> None:
    [fact] = find_facts(_target("get_it", {}, text=f'{{"{field}": {text}}}'))
    moved = move_figure(fact, float(text) * factor)
    assert moved is not None and moved != text and float(moved) % step == 0
    assert ("." in moved) is ("." in text)


@pytest.mark.parametrize(("text", "cents"), [("19.99", ".99"), ("12.95", ".95")])
def test_a_false_price_ends_as_the_true_one(text: str, cents: str) -> None:
    [fact] = find_facts(_target("get_it", {}, text=f'{{"price": {text}}}'))
    assert all((move_figure(fact, float(text) * factor) or "").endswith(cents) for factor in (0.7, 1.01, 1.4))


@pytest.mark.parametrize("name", [*FALSE, *INEXACT, "tool.stale_resource"])
@pytest.mark.parametrize(
    "value", [{"bags": 118, "loaded": 110}, {"capacity": 90, "boarded": 85}, {"verkauft": 88, "gesamt": 92}]
)
def test_a_part_is_no_more_than_its_whole(name: str, value: dict[str, int]) -> None:
    part, whole = sorted(value, key=lambda key: value[key])
    for noisy in _seen(name, _target("get_load", value), seeds=120):
        assert noisy[part] <= noisy[whole]


@pytest.mark.parametrize("name", INEXACT)
@pytest.mark.parametrize(
    "value",
    [
        {"sitze": [14, 15, 16]},
        {"booking": "B1", "seats": [14, 15, 16]},
        {"gate": 12, "reihe": 7},
        {"voucher": 40.0},
        {"gutschein": 40.0},
        {"discount": 50},
        {"rabatt_prozent": 50},
        {"running_time_min": 130},
        {"bags": 118, "loaded": 110},
    ],
)
def test_no_instrument_misreads_what_was_set_counted_or_numbered(name: str, value: dict[str, Any]) -> None:
    assert list(_seen(name, _target("get_it", value))) == []


def test_a_name_in_a_roster_is_not_unread() -> None:
    roster = {"shift": "early", "lead": "Okonjo", "crew": 6}
    assert all(one["lead"] == "Okonjo" for one in _seen("tool.misread", _target("get_roster", roster)))


@pytest.mark.parametrize("field", ["size", "capacity", "größe"])
def test_how_a_thing_is_built_was_no_other(field: str) -> None:
    states = (("C", "closed"), ("E", "open"), ("E", "closed"), ("C", "open"))
    rows = [{"stand": f"B{at}", field: size, "state": state} for at, (size, state) in enumerate(states)]
    seen = list(_seen("tool.stale_resource", _target("list_stands", {"stands": rows})))
    assert seen and all([one[field] for one in noisy["stands"]] == ["C", "E", "E", "C"] for noisy in seen)
