"""Results that are uncertain: misread values and inexact numbers. Another look draws again."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosswind.injectors.conversation import ToolSchema
from crosswind.injectors.operators.tool.false_values.sensors import LARGEST
from crosswind.injectors.profiles.load import load
from tests.injectors.operators.acting import (
    BAGGAGE,
    BAGGAGE_TEXT,
    PASSAGE,
    acts,
    outcomes,
    repeated,
    result_target,
    rule,
    shown,
)

VIEW = "#####\n#.K.#\n#.H~#\n#@.D#\n#####"
READING = {"sensor_id": "T-17", "temperature": 21.5, "pressure": 1013, "valve_open": True, "count": 4}
READING_TEXT = json.dumps(READING)


def test_cells_are_misread_as_a_neighbour_or_as_unknown_and_never_lost() -> None:
    kinds = set()
    for seen in outcomes("tool.misread", VIEW, seeds=60):
        assert [len(row) for row in seen.split("\n")] == [5] * 5
        for at, (was, now) in enumerate(zip(VIEW, seen, strict=True)):
            if was != now:
                kinds.add(now == "?")
                assert now == "?" or now in (VIEW[at - 1], VIEW[at + 1])
    assert kinds == {True, False}


@pytest.mark.parametrize("severity,low,high", [(1.0, 0.15, 0.25), (0.5, 0.07, 0.13)])
def test_severity_is_the_largest_share_of_misread_cells(severity: float, low: float, high: float) -> None:
    """Uniform(0, 0.4 x severity) has the mean 0.2 x severity; WildGrid's own noise is that of severity 0.5.
    Some cells have only a neighbour like themselves, and those are misread as unknown."""
    cells = len(VIEW.replace("\n", ""))
    found = acts("tool.misread", result_target(VIEW), severity, seeds=400)
    shares = [len(one[0]["spans"]) / cells if one else 0.0 for one in found]
    assert low < sum(shares) / len(shares) < high
    assert max(shares) < 0.4 * severity + 0.3


UNREAD_VALUES = {"?", "unknown", "n/a", "", "unavailable", "-", None}


def test_json_words_and_truth_values_are_misread_as_words_and_truth_values_or_unread() -> None:
    found = [json.loads(text) for text in outcomes("tool.misread", READING_TEXT, seeds=80)]
    assert False in {noisy["valve_open"] for noisy in found} <= {False} | UNREAD_VALUES
    assert all({**noisy, "valve_open": True} == READING for noisy in found)
    cabins = {json.loads(text)["cabin"] for text in outcomes("tool.misread", seeds=200)}
    assert (
        {"premium_economy", "basic_economy"}
        <= cabins
        <= {
            "economy",
            "premium_economy",
            "basic_economy",
            *UNREAD_VALUES,
        }
    )


def test_what_sensors_give_is_misread_before_other_words() -> None:
    text = json.dumps(
        {"owner": "Ana", "colour": "red", "door": "open", "lit": True, "lamps": [{"light": "on"}]}
    )
    for noisy in map(json.loads, outcomes("tool.misread", text, seeds=80)):
        assert (noisy["owner"], noisy["colour"], noisy["lit"]) == ("Ana", "red", True)


def test_a_word_without_a_vocabulary_is_misread_as_another_under_the_same_field() -> None:
    text = json.dumps([{"tile": "lamp", "by": "robot"}, {"tile": "fern"}, {"tile": "lamp"}])
    found = [json.loads(one) for one in outcomes("tool.misread", text, seeds=120)]
    assert {"lamp", "fern"} <= {noisy[0]["tile"] for noisy in found} <= {"lamp", "fern"} | UNREAD_VALUES


def test_rows_of_a_map_in_json_are_read_cell_by_cell() -> None:
    text = json.dumps({"view": VIEW.split("\n"), "tile": "K"})
    for noisy in outcomes("tool.misread", text):
        assert [len(row) for row in json.loads(noisy)["view"]] == [5] * 5


@pytest.mark.parametrize(
    "text", [PASSAGE, "The door is open.\nThe key is here.", "[1, 2]", '{"id": "K"}', "X"]
)
def test_what_is_no_reading_of_symbols_is_left_alone(text: str) -> None:
    assert outcomes("tool.misread", text) == []


def test_a_battery_shows_a_voltage_that_batteries_have() -> None:
    for text in outcomes("tool.numeric_noise", '{"batteryVoltage": 12.8}', 1.0, seeds=200):
        shown = json.loads(text)["batteryVoltage"]
        assert shown is None or 11.4 < shown < 14.2


@pytest.mark.parametrize("severity", [0.05, 0.3, 1.0])
def test_severity_of_numeric_noise_is_the_largest_relative_error(severity: float) -> None:
    found = [json.loads(text) for text in outcomes("tool.numeric_noise", READING_TEXT, severity, seeds=200)]
    off = [
        abs(noisy["temperature"] / 21.5 - 1)
        for noisy in found
        if noisy["temperature"] is not None and noisy["temperature"] != 99.0
    ]
    most = severity * LARGEST / 4
    assert 0.6 * most < max(off) + 0.003 <= most + 0.012, "temperatures vary by a quarter of it"
    levels = [json.loads(one)["level"] for one in outcomes("tool.numeric_noise", '{"level": 4000}', severity)]
    far = [abs(one / 4000 - 1) for one in levels if one is not None and one not in (9999, 100)]
    assert 0.7 * severity * LARGEST < max(far) <= severity * LARGEST + 0.01
    for noisy in found:
        assert noisy["pressure"] is None or isinstance(noisy["pressure"], int)
        assert noisy["temperature"] is None or round(noisy["temperature"], 1) == noisy["temperature"]
        kept = {key: noisy[key] for key in ("sensor_id", "valve_open", "count")}
        assert kept == {"sensor_id": "T-17", "valve_open": True, "count": 4}
        assert list(noisy) == list(READING)
    lost = sum(noisy[key] in (None, 99.0, 9999) for noisy in found for key in ("temperature", "pressure"))
    assert lost <= 2 * 200 * severity / 20 * 1.6 + 3


def test_readings_are_inexact_before_other_amounts_and_keep_their_bounds() -> None:
    text = json.dumps(
        {"price": 19.9, "card_number": 4711000011112222, "humidity": 97, "co2": None, "temp_c": -3.5}
    )
    for noisy in map(json.loads, outcomes("tool.numeric_noise", text, seeds=120)):
        assert (noisy["price"], noisy["card_number"], noisy["co2"]) == (19.9, 4711000011112222, None)
        assert noisy["humidity"] is None or 0 <= noisy["humidity"] <= 100
    assert all("19.9" not in one for one in outcomes("tool.numeric_noise", '{"price": 19.9, "id": 4}'))


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_numeric_noise_changes_nothing_of_a_text_but_its_numbers(data: st.DataObject) -> None:
    """Numbers are found by their form, percentages first; each is replaced where it stands."""
    parts = data.draw(st.lists(st.sampled_from(PARTS), min_size=2, max_size=6))
    numbers = [data.draw(st.integers(11, 98)) for _ in parts]
    text = " ".join(part.format(number) for part, number in zip(parts, numbers, strict=True))
    for after in outcomes("tool.numeric_noise", text, 0.8, seeds=3):
        assert NUMBER.sub("#", after) == NUMBER.sub("#", text)
        assert len(NUMBER.findall(after)) == len(NUMBER.findall(text))


PARTS = (
    *(
        "Saal: {},8 °C gemessen,",
        "dazu {} % rel. Feuchte.",
        "The crate weighs {} kg,",
        "and is {}.5 cm wide.",
    ),
    *("Battery at {}%.", "The pressure was {} hPa when read.", "温度は{}.4℃です。"),
)
NUMBER = re.compile(r"\d+(?:[.,]\d+)?")


def test_sums_of_money_and_counts_are_no_readings() -> None:
    tours = [
        {"tour": "family", "places": 14, "price_eur": 12.5},
        {"tour": "night", "places": 20, "fee": 15.0},
    ]
    for text in (
        json.dumps(tours),
        '{"summe_eur": 81.0, "insurance_value": 420000, "total": 75.0, "fare": "USD 12.50", "合計": 75.5}',
        "A ticket costs $12.50, or 14,50 € at the door.",
    ):
        assert outcomes("tool.numeric_noise", text) == []
    for noisy in map(json.loads, outcomes("tool.numeric_noise", '{"total_km": 40.5, "cost": 12.5}')):
        assert noisy["total_km"] != 40.5 and noisy["cost"] == 12.5


@pytest.mark.parametrize("name", ["tool.misread", "tool.erroneous", "tool.stale_resource"])
def test_a_status_that_is_enumerated_is_never_another_word(name: str) -> None:
    options = ["requested", "approved", "in_transit", "returned"]
    schema = {"type": "object", "properties": {"status": {"type": "string", "enum": options}}}
    tools = (ToolSchema("list_loans", "List loans.", schema),)
    for used in (options, options[:1], options[3:]):
        text = json.dumps({"loans": [{"loan": f"L-{at}", "status": one} for at, one in enumerate(used)]})
        target = replace(result_target(text, {}), tools=tools)
        for after in shown(name, target):
            assert {one["status"] for one in json.loads(after)["loans"]} <= {*options, None}


def test_a_missing_reading_is_written_as_the_data_writes_it() -> None:
    text = '{"temperature": 21.5, "depth": -999}'
    found = [json.loads(one)["temperature"] for one in outcomes("tool.numeric_noise", text, seeds=300)]
    assert -999 in found and None not in found


def test_numeric_noise_spares_what_the_call_holds_and_the_years_of_a_text() -> None:
    text = '{"amount": 120, "fee": 35}'
    for noisy in outcomes("tool.numeric_noise", text, arguments={"amount": 120}):
        assert json.loads(noisy)["amount"] == 120
    for passage in outcomes("tool.numeric_noise", PASSAGE):
        assert "1931" in passage and "24.5" not in passage
    assert outcomes("tool.numeric_noise", '{"order_id": 7, "placed": "2031-05-02", "ok": true}') == []


@pytest.mark.parametrize("name,text", [("tool.misread", VIEW), ("tool.numeric_noise", READING_TEXT)])
def test_another_look_draws_again_and_in_the_end_tells_the_truth(name: str, text: str) -> None:
    bounded = f"bounds: {{faults_per_call: 3}}\n{rule(name)}"
    looks = repeated(bounded, text, calls=15)
    noisy = [look for look in looks if look != text]
    assert len(set(noisy)) == len(noisy) == 3
    assert looks[-1] == text


def test_the_profile_has_the_papers_noise() -> None:
    (only,) = load("wildgrid/noisy-signals").rules
    assert (only.operator, only.severity) == ("tool.misread", 0.5)
    looks = [repeated("wildgrid/noisy-signals", VIEW, calls=8, seed=seed) for seed in range(20)]
    noisy = [sum(shown != VIEW for shown in look) for look in looks]
    assert max(noisy) == 3
    assert sum(noisy) > 50


def test_a_misread_result_keeps_every_field() -> None:
    for text in outcomes("tool.misread", BAGGAGE_TEXT):
        assert list(json.loads(text)) == list(BAGGAGE)


@pytest.mark.parametrize("tool,text", [("lock_doors", '{"lock": "locked", "doors_open": 0}')])
def test_the_receipt_of_a_command_is_read_correctly(tool: str, text: str) -> None:
    assert set(acts("tool.misread", replace(result_target(text), tool=tool), seeds=20)) == {None}


def test_a_name_is_never_lost() -> None:
    for noisy in map(json.loads, outcomes("tool.misread", '{"author": "dvora", "kind_of": "Buy"}', seeds=40)):
        assert None not in noisy.values()


VITALS = {"patient_id": "P-4471", "pulse": 82, "spo2": 97, "dose_mg": 50, "inr_target": "2.0-3.0"}
TIRES = {"tire_pressure": {"front_left": 32.0, "front_right": 31.5}, "healthy_tire_pressure": True}


@pytest.mark.parametrize(
    "name", ["tool.erroneous", "tool.numeric_noise", "tool.misread", "tool.stale_resource"]
)
def test_what_is_false_stays_plausible_and_contradicts_nothing_beside_it(name: str) -> None:
    for noisy in map(json.loads, outcomes(name, json.dumps(VITALS), seeds=80)):
        assert noisy["spo2"] is None or 80 < noisy["spo2"] <= 100
        assert noisy["dose_mg"] in (25, 50, 100) and noisy["inr_target"] == "2.0-3.0"
    for noisy in map(json.loads, outcomes(name, json.dumps(TIRES), seeds=80)):
        assert noisy["healthy_tire_pressure"] is True
        assert all(one is None or 27 < one < 38 for one in noisy["tire_pressure"].values())


@pytest.mark.parametrize("name", ["tool.erroneous", "tool.numeric_noise"])
def test_figures_keep_their_steps_and_the_order_of_a_range(name: str) -> None:
    clean = {"min_price": 80, "max_price": 85, "rating": 4.6, "area": 25.0, "fee": 18.25}
    for noisy in map(json.loads, outcomes(name, json.dumps(clean), seeds=80)):
        assert (noisy["min_price"], noisy["max_price"]) == (80, 85) and noisy["rating"] <= 5
        assert f"{noisy['fee']:.2f}"[-1] != "0" or noisy["fee"] == 18.25
    assert outcomes(name, "Take 20 to 25 drops.") == []


@pytest.mark.parametrize("text", ["3.5", "3.9", "0.1", "-4.0", "21", "2.552"])
def test_each_reading_is_off_by_a_digit_at_least_at_full_severity(text: str) -> None:
    clean = f'{{"temperature": {text}}}'
    found = shown("tool.numeric_noise", result_target(clean), 1.0, seeds=40)
    assert clean not in found


def test_a_string_of_blanks_is_read_once() -> None:
    # Quadratic work on it would take half an hour.
    clean = json.dumps({"status": "open", "note": " " * 400_000})
    assert all(json.loads(after)["note"].isspace() for after in outcomes("tool.misread", clean, seeds=2))


def test_a_price_stays_near_its_own_means() -> None:
    clean = json.dumps({"symbol": "NVX", "price": 227.16, "volume": 2.5, "MA(5)": 227.11, "MA(20)": 227.09})
    for after in map(json.loads, outcomes("tool.numeric_noise", clean)):
        assert abs(after["price"] - 227.1) < 3
    for after in map(json.loads, outcomes("tool.erroneous", clean)):
        assert after["price"] == 227.16
