"""False facts in a result: plausible ones that nothing gives away, and that another read tells."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from crosswind.injectors import registry
from crosswind.injectors.conversation import Ref, ToolCall, ToolResult
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Branch, ToolClass
from tests.injectors.operators.acting import (
    BAGGAGE,
    PASSAGE,
    outcomes,
    repeated,
    result_target,
    rule,
    shown,
)

ORDER = {"order_id": "#W77", "status": "delivered", "placed": "2031-05-02", "total": 38.5, "gift": False}
ORDER_TEXT = json.dumps(ORDER)
LYING = ("tool.erroneous", "tool.fabricated_observation", "tool.stale_resource")
SEARCH = (
    "1. Canberra - Wikipedia\nCanberra has a population of 456,692 and was founded in 1913.\n"
    "2. Canberra facts\nPopulation: 456,692. A ticket costs $12.50. See page 3 of 120, version 2.14.1, "
    "item #412.\n"
    "Status: open"
)


def test_every_fact_but_the_id_may_be_false_and_no_field_comes_or_goes() -> None:
    falsified: Counter[str] = Counter()
    for noisy in map(json.loads, outcomes("error")):
        assert list(noisy) == list(BAGGAGE)
        false = [key for key in BAGGAGE if noisy[key] != BAGGAGE[key]]
        falsified.update(false)
        assert 1 <= len(false) <= 3
        assert all(type(noisy[key]) is type(BAGGAGE[key]) for key in BAGGAGE)
    # A flight doesn't lead back to where it began, and none of something isn't some of it.
    assert set(falsified) == {"cabin", "total_baggages"}


def test_a_false_word_is_one_of_the_same_kind() -> None:
    cabins = {json.loads(text)["cabin"] for text in outcomes("tool.erroneous", seeds=80)}
    assert cabins | {"economy"} == {"basic_economy", "economy", "premium_economy", "business", "first_class"}


@pytest.mark.parametrize("name", LYING)
def test_nothing_else_of_a_result_changes_a_byte(name: str) -> None:
    text = (
        '{ "id":"A7",\n\t"rows" : [ {"price": 12.50 , "on":"2026-03-09"} ], '
        '"note":"caf\\u00e9 \\ud83d\\ude00" }'
    )
    for noisy in outcomes(name, text):
        assert noisy != text
        for kept in ('{ "id":"A7",\n\t', '"note":"caf\\u00e9 \\ud83d\\ude00" }', '"rows" : [ {"price": '):
            assert kept in noisy or name == "tool.stale_resource"
        json.loads(noisy)


def test_prose_is_false_in_its_facts_and_consistently() -> None:
    changed: Counter[str] = Counter()
    for text in outcomes("tool.erroneous", SEARCH, seeds=120):
        for kept in ("1. Canberra", "2. Canberra", "page 3 of 120", "version 2.14.1", "item #412"):
            assert kept in text
        for fact in ("456,692", "1913", "$12.50"):
            changed[fact] += fact not in text
        assert text.count("456,692") in (0, 2)
    assert min(changed.values()) > 5


def test_results_within_texts_of_an_envelope_are_read_too() -> None:
    inner = '{"status": "delivered", "total": 38.5}'
    text = json.dumps({"content": [{"type": "text", "text": inner}], "isError": False})
    for noisy in map(json.loads, outcomes("tool.erroneous", text)):
        assert noisy["isError"] is False and noisy["content"][0]["type"] == "text"
        found = json.loads(noisy["content"][0]["text"])
        assert found.keys() == {"status", "total"} and found != json.loads(inner)


@pytest.mark.parametrize(
    "name,text",
    [
        ("tool.erroneous", '{"order_id": "W1", "email": "a@b.c", "items": [{}, {}, {}], "item_no": 3}'),
        (
            "tool.erroneous",
            '{"binding_card": 1974202140965533, "phone": 5551234, "success": true, "code": 200}',
        ),
        ("tool.erroneous", '{"rows": [{}, {}], "returned": 2}'),
        ("tool.erroneous", "Nothing was found there."),
        ("tool.erroneous", "[1]"),
        ("tool.erroneous", "seven"),
        ("tool.erroneous", "-rw-r--r-- 1 ana ana 2048 notes.txt\nbuild 4711, page 2 of 9, 14 files"),
        ("tool.fabricated_observation", "[]"),
        ("tool.fabricated_observation", "{}"),
        ("tool.fabricated_observation", "plain words here"),
        ("tool.fabricated_observation", '{"note": "hello there"}'),
        ("tool.stale_resource", '{"order_id": "#W77", "status": "draft"}'),
    ],
)
def test_what_states_no_fact_is_left_alone(name: str, text: str) -> None:
    assert outcomes(name, text) == []


def test_what_the_call_itself_said_stays() -> None:
    text = '{"city": "north", "total": 17, "floor": 3}'
    for noisy in outcomes("tool.erroneous", text, arguments={"city": "north", "total": 17}):
        assert (json.loads(noisy)["city"], json.loads(noisy)["total"]) == ("north", 17)


@pytest.mark.parametrize("name", ["tool.fabricated_observation", "tool.stale_resource"])
def test_severity_is_the_probability(name: str) -> None:
    assert 65 < len(outcomes(name, ORDER_TEXT, 0.4, seeds=200)) < 95


@pytest.mark.parametrize(
    "name,text", [*((name, ORDER_TEXT) for name in LYING), *((name, PASSAGE) for name in LYING[:2])]
)
def test_the_second_read_tells_the_truth_however_many_faults_a_call_may_meet(name: str, text: str) -> None:
    looks = repeated(f"bounds: {{faults_per_call: 3}}\n{rule(name)}", text, calls=6)
    assert looks[0] != text
    assert looks[1:] == [text] * 5


def test_a_fabricated_record_keeps_its_ids_and_nothing_else_of_the_truth() -> None:
    for noisy in map(json.loads, outcomes("tool.fabricated_observation")):
        assert list(noisy) == list(BAGGAGE)
        assert noisy["reservation_id"] == BAGGAGE["reservation_id"]
        assert {key for key, value in BAGGAGE.items() if noisy[key] != value} == {"cabin", "total_baggages"}
        assert all(type(noisy[key]) is type(value) for key, value in BAGGAGE.items())


@pytest.mark.parametrize("name", LYING)
def test_one_result_becomes_many_others(name: str) -> None:
    text = STOCK if name == "tool.stale_resource" else SEARCH
    assert len(set(outcomes(name, text, seeds=200))) >= 150


STOCK = json.dumps({"symbol": "NVDA", "price": 220.34, "volume": 1834, "percent_change": 0.34, "views": 9120})


@pytest.mark.parametrize("name", LYING)
@pytest.mark.parametrize(
    "tool,text",
    [
        ("lock_doors", '{"lockStatus": "locked", "remainingUnlockedDoors": 0}'),
        ("read_doors", '{"lockStatus": "unlocked", "remainingUnlockedDoors": 4}'),
        ("send_message", '{"sent_status": true, "message": "Message sent to USR2 successfully."}'),
        ("get_schedule", '{"free_slots": ["09:30", "11:00", "15:20"]}'),
        ("list_orders", '{"order_history": [12345, 12446]}'),
        ("geocode", '{"lat": 60.3962, "lon": 5.3248, "display_name": "Torget 1, Bergen, Norway"}'),
    ],
)
def test_what_contradicts_its_neighbours_or_its_call_stays(name: str, tool: str, text: str) -> None:
    target = replace(result_target(text), tool=tool)
    for noisy in shown(name, target, 1.0):
        if "[" in text:  # An older list, or a false one, lacks elements.
            assert _is_shorter(json.loads(noisy), json.loads(text))
        else:
            assert noisy == text


def _is_shorter(noisy: dict[str, list[Any]], clean: dict[str, list[Any]]) -> bool:
    """Whether the only list lacks elements, and those that are left stand in their order."""
    ((name, left),) = noisy.items()
    remaining = iter(clean[name])
    return 0 < len(left) < len(clean[name]) and all(one in remaining for one in left)


def test_a_sum_and_its_items_stay_and_an_order_of_dates_too() -> None:
    cart = {"items": [{"sku": "K1", "quantity": 2, "price": 39.9}], "total": 79.8, "colour": "red"}
    days = {"days": [{"date": "2026-02-21", "low": -6.5}, {"date": "2026-02-22", "low": -3.5}]}
    for noisy in map(json.loads, outcomes("tool.fabricated_observation", json.dumps(cart))):
        assert (noisy["items"], noisy["total"]) == (cart["items"], cart["total"])
    for noisy in map(json.loads, outcomes("tool.fabricated_observation", json.dumps(days))):
        assert [one["date"] for one in noisy["days"]] == ["2026-02-21", "2026-02-22"]


def test_sums_and_products_of_figures_side_by_side_hold() -> None:
    for figures in (
        {"revenue": 4413, "expenses": 2433, "profit": 1980},
        {"price": 12.5, "quantity": 4, "amount": 50.0},
    ):
        text = json.dumps(figures)
        assert shown("tool.erroneous", result_target(text, {}), 1.0) == [text] * 40
    told = "Revenue 4413 euros, expenses 2433 euros, profit 1980 euros."
    assert shown("tool.erroneous", result_target(told, {}), 1.0) == [told] * 40


def test_a_row_s_key_is_never_another_row_s() -> None:
    rows = [{"status": "open", "rate": 3.5}, {"status": "closed", "rate": 4.5}]
    for noisy in map(json.loads, outcomes("tool.erroneous", json.dumps(rows))):
        assert len({one["status"] for one in noisy}) == 2


def test_a_version_is_no_figure_and_a_postcode_alone_is_a_fact() -> None:
    text = '{"old": "0.27.0", "new": "0.28.0"}'
    assert shown("tool.erroneous", result_target(text, {}), 1.0) == [text] * 40
    seen = {json.loads(one)["zipcode"] for one in outcomes("tool.erroneous", '{"zipcode": "83214"}')}
    assert len(seen) > 5 and all(len(one) == 5 and one.startswith("83") for one in seen)


def test_what_was_just_ordered_is_under_way_and_what_was_done_is_done() -> None:
    placed = replace(result_target('{"status": "Pending"}', {}), tool="place_order")
    placed = replace(placed, tool_class=ToolClass.DESTRUCTIVE)
    seen = {json.loads(one)["status"] for one in shown("tool.erroneous", placed, 1.0)}
    assert "Confirmed" in seen and "Cancelled" not in seen
    done = replace(placed, tool="confirm_order", text='{"status": "Confirmed"}')
    assert set(shown("tool.erroneous", done, 1.0)) == {done.text}


@pytest.mark.parametrize("name", [*LYING, "tool.numeric_noise"])
@pytest.mark.parametrize(
    "text",
    [
        "Keep it at a humidity between 45 and 55 %.",
        "In der Klimakiste bei 45 bis 55 % relativer Feuchte.",
        "It stays at 45 % to 55 %, between 19.5 °C and 21 °C.",
        "Zwischen 45 und 55 % Feuchte.",
        "Open 09:00 Uhr bis 17:30 Uhr.",
        "The recipient has two addresses on file; say which: a@x.example or b@x.example",
        "There are 2 addresses on file: a@x.example or b@x.example",
    ],
)
def test_ends_of_a_range_and_counts_of_what_is_listed_stay(name: str, text: str) -> None:
    assert outcomes(name, text) == []


def test_a_status_of_which_nothing_is_known_is_true_where_another_fact_may_be_false() -> None:
    text = json.dumps({"loan": "L-1", "status": "delivered", "weight": 3.5})
    draws = outcomes("tool.erroneous", text, 0.01, seeds=3000)
    assert draws and all(json.loads(one)["status"] == "delivered" for one in draws)


def test_a_false_status_is_one_that_the_session_saw() -> None:
    call = ToolCall("c", "list_loans", "{}")
    before = json.dumps([{"status": "requested"}, {"status": "in_transit"}])
    branch = Branch(earlier=(ToolResult(Ref(0), before, "a", 0, call, "list_loans{}"),))
    loan = result_target('{"loan": "L-1", "status": "returned"}', {})
    target = replace(loan, tool="get_loan", branch=branch)
    said = {json.loads(one)["status"] for one in shown("tool.erroneous", target)}
    assert said == {"requested", "in_transit"}


@pytest.mark.parametrize("name", ["tool.erroneous", "tool.fabricated_observation", "tool.numeric_noise"])
def test_a_note_speaks_of_one_thing_as_of_one(name: str) -> None:
    target = result_target('{"temperature": 21.5}')
    implementation = registry.resolve(name).implementation
    draw = implementation.draw(target, SeededRandom("x"), 1.0)
    assert draw is not None
    note = implementation.apply(target, draw).note
    assert "1 " in note and " was " in note and "were" not in note and " are " not in note
