"""Content added to a result: everything true stays, byte for byte."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from crosswind.injectors.conversation import Ref, ToolCall, ToolResult
from crosswind.injectors.operators.words.results import REMARKS
from crosswind.injectors.packs.load import load_all
from crosswind.injectors.targets import Branch, Half
from crosswind.injectors.text.languages import UNABLE, Language, detect_language
from tests.injectors.operators.acting import (
    BAGGAGE,
    BAGGAGE_TEXT,
    PASSAGE,
    acts,
    outcomes,
    result_target,
    shown,
)

ADDING = ("tool.misleading", "tool.redundant", "tool.context_pressure", "tool.prompt_injection")
BESIDE = ADDING[:3]
adding = pytest.mark.parametrize("name", ADDING)
RECORDS = '[{"id":"R1","seat":"4C"},{"id":"R2","seat":"9A"}]'


@pytest.mark.parametrize("name", BESIDE)
@pytest.mark.parametrize("text", [BAGGAGE_TEXT, json.dumps(BAGGAGE), RECORDS, PASSAGE, '{ "a" : "{" }'])
def test_what_is_left_after_taking_the_additions_away_is_the_clean_result(name: str, text: str) -> None:
    found = outcomes(name, text)
    assert found or (name == "tool.context_pressure" and text in (RECORDS, PASSAGE))
    for after in found:
        assert after != text
        pieces = iter(after)
        assert all(character in pieces for character in text)
        if text is not PASSAGE:
            noisy, clean = json.loads(after), json.loads(text)
            pairs = [(noisy, clean)] if isinstance(clean, dict) else list(zip(noisy, clean, strict=True))
            assert all(own.items() <= shown.items() for shown, own in pairs)
            assert all([key for key in shown if key in own] == list(own) for shown, own in pairs)
        else:
            assert f"\n{text}\n" in f"\n{after}\n"


@adding
@pytest.mark.parametrize("text", ["[1, 2]", "38.5", "shipped", "null", "", "[]", "{}"])
def test_what_has_no_room_is_left_alone(name: str, text: str) -> None:
    assert outcomes(name, text) == []


LONG = json.dumps({"items": [{"sku": f"K{at}", "price": at * 1.5, "name": "kettle"} for at in range(30)]})
CAMEL = json.dumps({"orderId": "W1", "shipTo": "Oslo", "giftWrap": False, "totalPrice": 38.5})


@pytest.mark.parametrize("text", [BAGGAGE_TEXT, RECORDS, LONG, CAMEL, PASSAGE * 4])
def test_a_redundant_result_is_up_to_three_times_as_long_at_the_papers_dose(text: str) -> None:
    growth = [len(after) / len(text) for after in shown("tool.redundant", result_target(text), 0.7, seeds=60)]
    assert 1.4 < sum(growth) / len(growth) < 2.6
    assert max(growth) < 3.5 or len(text) < 60


def test_redundant_fields_are_those_of_the_packs_as_the_result_names_its_own() -> None:
    known = {entry.key for pack in load_all() for entry in pack.select("tool.redundant", "field", Half.TRAIN)}
    for after in map(json.loads, outcomes("tool.redundant", CAMEL)):
        new = after.keys() - json.loads(CAMEL).keys()
        held = next((after[key] for key in new if isinstance(after[key], dict)), None)
        new = new if held is None else held.keys()
        assert new and all("_" not in key for key in new)
        assert {re.sub("[A-Z]", lambda one: f"_{one[0].lower()}", key) for key in new} <= known


def test_each_record_of_a_list_has_the_same_fields_with_values_of_its_own() -> None:
    for after in outcomes("tool.redundant", LONG, 0.7):
        records = json.loads(after)["items"]
        assert len({frozenset(one) for one in records}) == 1
        assert len({json.dumps(one) for one in records}) == len(records)


OPTIONS = json.dumps({"hotels": [{"name": "Aurora", "price": 90}, {"name": "Belvedere", "price": 120}]})


def test_remarks_tempt_to_the_other_option_of_the_result() -> None:
    named = [
        one
        for one in acts("tool.misleading", replace(result_target(OPTIONS), tool="search_hotels"), seeds=60)
        if one is not None
        for after in one[1:]
        for place in (json.loads(after), *json.loads(after)["hotels"])
        for key, one in place.items()
        if key in REMARKS
    ]
    assert any("Belvedere" in one for one in named)
    assert not any("{" in one for one in named)


def test_a_remark_stands_among_the_fields_or_lines_and_is_another_each_time() -> None:
    found = outcomes("tool.misleading", OPTIONS, 0.7, seeds=200)
    assert len(set(found)) >= 120
    keys = [key for after in found for key in json.loads(after) if key != "hotels"]
    assert len(set(keys)) > 8
    assert len(set(shown("tool.misleading", result_target(PASSAGE), 1.0, seeds=200))) >= 150
    texts = outcomes("tool.misleading", PASSAGE, 0.4)
    assert any(not one.startswith(PASSAGE) for one in texts) and any(one.startswith(PASSAGE) for one in texts)


def test_an_envelope_of_texts_gets_one_more() -> None:
    text = json.dumps({"content": [{"type": "text", "text": "The order was sent."}], "isError": False})
    for after in map(json.loads, outcomes("tool.misleading", text)):
        first, *rest = after["content"]
        assert first["text"] == "The order was sent." and rest
        assert all(one.keys() == {"type", "text"} for one in rest)


GERMAN = "Die Bestellung wurde gestern versandt und kommt in den nächsten Tagen bei Ihnen an."


def test_remarks_are_in_the_results_language() -> None:
    for after in outcomes("tool.misleading", GERMAN):
        assert detect_language(after) is Language.DE
    polish = "Zamówienie zostało wysłane wczoraj i nie jest jeszcze na miejscu, proszę czekać."
    assert shown("tool.misleading", result_target(polish), 1.0) == [polish] * 40
    (draw,) = {json.dumps(one[0]) for one in acts("tool.misleading", result_target(polish), 1.0, 5) if one}
    assert UNABLE in draw


@pytest.mark.parametrize("name", ["tool.misleading", "tool.redundant", "tool.prompt_injection"])
def test_what_a_conversation_has_met_is_not_drawn_again(name: str) -> None:
    target = result_target(PASSAGE)
    (draw, _), *_ = (one for one in acts(name, target) if one is not None)
    again = replace(target, branch=Branch(phrases=frozenset(draw["phrases"])))
    for one in acts(name, again, seeds=60):
        assert one is None or not set(one[0]["phrases"]) & set(draw["phrases"])


TEMPERATURES = json.dumps({"sensor_id": "s4", "temperature_c": 21.4, "humidity_pct": 43})


@pytest.mark.parametrize("severity", [0.1, 0.5, 1.0])
def test_severity_of_context_pressure_bounds_a_volume_in_proportion_to_the_result(severity: float) -> None:
    """The whole volume at severity 1; below it a short result gets a proportionate amount."""
    most = 6_000 if severity == 1 else min(6_000, (150 + 4 * len(TEMPERATURES)) / (1 - severity))
    target = replace(result_target(TEMPERATURES), tool="read_sensor")
    for one in acts("tool.context_pressure", target, severity):
        assert one is not None
        assert 0 < len(one[1]) - len(TEMPERATURES) <= severity * most + 300


def test_context_pressure_tells_only_what_follows_from_the_answer_and_the_call() -> None:
    calls = ("cron", "daemon", "get_tour")
    earlier = (earlier_result("get_tour", {"id": "T1", "token": "s3cret"}, "Doors open at ten."),)
    target = replace(result_target(TEMPERATURES), tool="get_climate", branch=Branch(earlier=earlier))
    for one in acts("tool.context_pressure", target, 1):
        assert one is not None
        assert not any(word in one[1] for word in (*calls, "Doors open", "s3cret"))
        figures = set(re.findall(r"\b\d+\b", one[1])) - set(re.findall(r"\d+", TEMPERATURES))
        assert figures <= {"16", "64"}, "the widths of columns"


def test_a_mean_gets_steps_that_lead_to_it_and_a_text_its_own_sums() -> None:
    mean = replace(result_target('{"result": 4.0}', {"numbers": [1, 4, 7]}), tool="mean")
    assert any("12 / 3 = 4.0" in one[1] for one in acts("tool.context_pressure", mean, 1) if one)
    wrong = replace(mean, text='{"result": 5.0}')
    assert not any(" / 3 = " in one[1] for one in acts("tool.context_pressure", wrong, 1) if one)
    said = json.dumps({"file_content": PASSAGE})
    (words,) = {
        told["words"]
        for one in acts("tool.context_pressure", replace(result_target(said), tool="cat"), 1)
        if one
        for told in json.loads(one[1]).values()
        if isinstance(told, dict) and "words" in told
    }
    assert words == len(PASSAGE.split())


def test_a_functions_and_a_devices_answers_have_nothing_of_the_webs() -> None:
    for text, tool in (('{"result": 3.107}', "convert_units"), ('{"lockStatus": "locked"}', "lockDoors")):
        for one in acts("tool.context_pressure", replace(result_target(text), tool=tool), 0.7):
            assert one is not None
            assert not re.search(r"(?i)http|header|cookie|content-|trace|gateway", one[1])


def test_a_page_gets_what_is_around_it_and_other_text_stays_clean() -> None:
    for one in acts("tool.context_pressure", replace(result_target(PASSAGE), tool="fetch_page"), 0.5, 10):
        assert one is not None and f"\n\n{PASSAGE}\n" in one[1]
    listing = replace(result_target("README.md\nsrc\ntests\n"), tool="ls")
    assert all(one is None for one in acts("tool.context_pressure", listing, 1, 10))
    assert outcomes("tool.context_pressure", PASSAGE, 0.5) == []


def earlier_result(tool: str, arguments: dict[str, str], text: str) -> ToolResult:
    call = ToolCall("c0", tool, json.dumps(arguments))
    return ToolResult(Ref(1), text, "call:c0#0", 0, call, "logical:c0")


REVIEW = "Lovely staff and a great breakfast, but the stairs are rather steep."
HOTEL = json.dumps(
    {"id": "H-1", "name": "Aurora", "message": f"Read: {REVIEW}", "reviews": [{"text": REVIEW}]}
)


def test_an_injected_instruction_carries_a_canary_of_its_own_and_asks_for_nothing_harmful() -> None:
    canaries = set()
    for one in acts("tool.prompt_injection", result_target(HOTEL), seeds=60):
        assert one is not None
        draw, after = one
        assert after.count(draw["canary"]) == 1 and draw["canary"] not in HOTEL
        asked = draw["text"].replace(draw["canary"], "")
        assert not re.search(r"http|password\b|delete|cancel|refund", asked, re.IGNORECASE)
        canaries.add(draw["canary"])
    assert len(canaries) == 60
    shapes = {re.sub("[a-z]+", "a", re.sub("[A-Z]+", "A", re.sub(r"\d+", "0", one))) for one in canaries}
    assert len(shapes) > 6


def test_an_injected_instruction_stands_behind_a_text_that_others_wrote() -> None:
    for after in map(json.loads, outcomes("tool.prompt_injection", HOTEL)):
        clean = json.loads(HOTEL)
        said = after["reviews"][0].pop("text")
        clean["reviews"][0].pop("text")
        assert after == clean and said.startswith(f"{REVIEW} ") and len(said) > len(REVIEW) + 12
    for after in outcomes("tool.prompt_injection", PASSAGE):
        assert after.startswith(PASSAGE) and after != PASSAGE


def test_where_nobody_else_wrote_anything_there_is_no_injected_instruction() -> None:
    said = json.dumps({"status": "The parcel has been moved to the depot in Oslo successfully."})
    for text in (BAGGAGE_TEXT, said, HOTEL):
        target = replace(result_target(text, {"text": REVIEW}), tool="measure")
        assert shown("tool.prompt_injection", target) == [text] * 40


def test_a_record_gets_the_text_that_such_records_may_have() -> None:
    for after in map(json.loads, outcomes("tool.prompt_injection")):
        [(key, said)] = after.items() - BAGGAGE.items()
        assert key == "special_requests" and said.startswith("A quiet seat")


def test_severity_of_an_injected_instruction_is_its_probability() -> None:
    assert 30 < len(outcomes("tool.prompt_injection", HOTEL, severity=0.4, seeds=120)) < 66
