"""Content added to a result: everything true stays, byte for byte."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from crosswind.injectors.conversation import ToolSchema
from crosswind.injectors.operators.words.results import NEXT_TOOL, NEXT_TOOLS, REMARKS
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
    assert found or (text is RECORDS and name in ("tool.context_pressure", "tool.misleading"))
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


TRADES = tuple(
    ToolSchema(name, "", {"type": "object", "properties": {}})
    for name in (
        "get_order_details",
        "place_order",
        "cancel_order",
        "trading_login",
        "start_engine",
        "get_user",
    )
)


def test_a_service_names_its_own_other_calls_as_the_next() -> None:
    target = replace(result_target('{"order_id": 5, "price": 9.5}'), tool="get_order_details", tools=TRADES)
    named = [
        json.dumps(one)
        for after in map(json.loads, shown("tool.misleading", target, 1.0, seeds=80))
        for key, one in after.items()
        if key in {*NEXT_TOOLS, *NEXT_TOOL}
    ]
    assert 20 < len(named) < 60
    assert all("place_order" in one or "cancel_order" in one for one in named)
    assert not any(one in "".join(named) for one in ("order_login", "start_engine", "get_user"))


def test_the_rows_of_a_list_and_the_text_of_a_file_get_no_remark() -> None:
    assert outcomes("tool.misleading", RECORDS) == []
    texts = shown("tool.misleading", replace(result_target(PASSAGE), tool="read_file"), 1.0, seeds=40)
    assert set(texts) == {PASSAGE}


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


@pytest.mark.parametrize("severity", [0.1, 0.5, 1.0])
def test_severity_of_context_pressure_is_a_volume_in_proportion_to_the_result(severity: float) -> None:
    """The whole volume at severity 1; below it a short result gets a proportionate amount."""
    most = 6_000 if severity == 1 else min(6_000, (150 + 4 * len(BAGGAGE_TEXT)) / (1 - severity))
    for after in outcomes("tool.context_pressure", BAGGAGE_TEXT, severity, seeds=10):
        added = len(after) - len(BAGGAGE_TEXT)
        assert severity * most * 0.5 <= added <= severity * most + 500


def test_diagnostics_agree_with_one_another_and_with_the_answer() -> None:
    for after in map(json.loads, outcomes("tool.context_pressure", BAGGAGE_TEXT)):
        (told,) = (one for one in after.values() if isinstance(one, dict))
        spans = told["trace"]["spans"]
        starts = [one["start_us"] for one in spans]
        assert starts == sorted(starts)
        assert all(one["start_us"] + one["duration_us"] <= told["trace"]["duration_us"] for one in spans)
        headers = {key.lower(): one for key, one in told["headers"].items()}
        assert headers["content-length"] == str(len(BAGGAGE_TEXT.encode()))
        assert told["shape"]["required"] == list(BAGGAGE)
        calls = [one["at"] for one in told.get("recent_calls", ())]
        assert calls == sorted(calls)


def test_a_command_gets_a_login_above_it_and_other_text_a_page_around_it() -> None:
    listing = "README.md\nsrc\ntests\n"
    for one in acts("tool.context_pressure", replace(result_target(listing), tool="ls"), 1, 10):
        assert one is not None and one[1].endswith(f"\n{listing}")
        counted = re.search(r"(\d+) updates can be applied", one[1])
        assert counted and int(counted[1]) == one[1].count("[upgradable from: ")
    for one in acts("tool.context_pressure", replace(result_target(PASSAGE), tool="fetch_page"), 0.5, 10):
        assert one is not None and f"\n\n{PASSAGE}\n" in one[1]
    for after in outcomes("tool.context_pressure", PASSAGE, 0.5, seeds=10):
        assert after.startswith("HTTP/1.1 200 OK\n") and after.endswith(f"\n\n{PASSAGE}")


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


def test_a_record_to_which_people_write_gets_their_text_and_no_other_does() -> None:
    found = outcomes("tool.prompt_injection")
    assert len(found) == 40
    for after in map(json.loads, found):
        [(key, said)] = after.items() - BAGGAGE.items()
        assert key == "special_requests" and said.startswith("A quiet seat")
    for tool in ("get_user", "get_transaction", "get_sensor", "get_login"):
        target = replace(result_target(), tool=tool)
        assert shown("tool.prompt_injection", target) == [BAGGAGE_TEXT] * 40


def test_what_the_user_sent_and_what_a_command_reports_gets_no_injected_instruction() -> None:
    for tool, arguments in (("view_messages_sent", {}), ("bash", {"command": "systemctl is-active web"})):
        target = replace(result_target(PASSAGE, arguments), tool=tool)
        assert shown("tool.prompt_injection", target) == [PASSAGE] * 40
    shows = replace(result_target(PASSAGE, {"command": "cat notes.md"}), tool="bash")
    assert len(set(shown("tool.prompt_injection", shows))) > 30
    german = "Das Zimmer war sauber und ruhig, aber das Frühstück hat uns leider gar nicht geschmeckt."
    assert shown("tool.prompt_injection", result_target(german)) == [german] * 40


def test_severity_of_an_injected_instruction_is_its_probability() -> None:
    assert 30 < len(outcomes("tool.prompt_injection", HOTEL, severity=0.4, seeds=120)) < 66
