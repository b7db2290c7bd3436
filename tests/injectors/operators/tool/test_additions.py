"""Content added to a result: everything true stays, byte for byte."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from crosswind.injectors import registry
from crosswind.injectors.conversation import Ref, ToolCall, ToolResult
from crosswind.injectors.operators.tool.additions.display_texts import display
from crosswind.injectors.operators.tool.additions.restatement import restate_text
from crosswind.injectors.operators.words.empty_fields import MEANINGS
from crosswind.injectors.packs.load import load_all
from crosswind.injectors.seeded_random import SeededRandom
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
    assert found or (name, text) in (("tool.misleading", RECORDS), ("tool.context_pressure", PASSAGE))
    for after in found:
        assert after != text
        pieces = iter(after)
        assert all(character in pieces for character in text if not character.isspace())
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


def test_redundant_fields_say_the_result_again_and_are_named_as_its_own() -> None:
    said: set[str] = set()
    for after in map(json.loads, outcomes("tool.redundant", CAMEL)):
        new = after.keys() - json.loads(CAMEL).keys()
        assert new and all("_" not in key.lstrip("_") for key in new)
        said |= {json.dumps(after[key]) for key in new}
    assert {'"38.50"', '{"reservation_id": "KX93TL"}'} <= said
    assert any("eservation retrieved" in one for one in said)


def test_a_large_object_is_not_said_again_in_one_text_and_a_sentence_stays_alone() -> None:
    for after in map(json.loads, outcomes("tool.redundant", BAGGAGE_TEXT, seeds=80)):
        assert not any(isinstance(one, str) and "origin" in one for one in after.values())
        assert not any(isinstance(one, list) and one for one in after.values())
    assert outcomes("tool.redundant", "Your balance is 55.20 EUR.") == []


def test_a_shell_and_a_device_say_only_what_they_said() -> None:
    listed = json.dumps({"current_directory_content": ["b.txt", "a.txt", "src"]})
    for tool, text in (("ls", listed), ("startEngine", '{"engineState": "running", "fuelLevel": 13.2}')):
        target = replace(result_target(text, {}), tool=tool)
        seen = {one for after in shown("tool.redundant", target, 1.0) for one in json.loads(after)}
        served = {
            entry.key for pack in load_all() for entry in pack.select("tool.redundant", "field", Half.TRAIN)
        }
        assert len(seen) > 5 and seen.isdisjoint(served - {"message"})


def test_dates_and_sums_are_said_as_people_read_them() -> None:
    dated = json.dumps({"order_id": 5, "ordered_on": "2031-04-02", "price": 1009.5, "currency": "EUR"})
    found = map(json.loads, outcomes("tool.redundant", dated, seeds=80))
    texts = {one for after in found for one in after.values() if isinstance(one, str)}
    assert {"2 April 2031", "Apr 2, 2031", "1,009.50 EUR", "\u20ac1,009.50"} <= texts


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
        if key not in ("hotels", "name", "price")
    ]
    said = [one for one in named if isinstance(one, str)]
    assert sum("Belvedere" in one for one in said) > 5
    assert not any("{" in one for one in said)


def test_the_rows_of_a_list_and_the_text_of_a_file_get_no_remark() -> None:
    assert outcomes("tool.misleading", RECORDS) == []
    texts = shown("tool.misleading", replace(result_target(PASSAGE), tool="read_file"), 1.0, seeds=40)
    assert set(texts) == {PASSAGE}


def test_a_remark_stands_among_the_fields_or_lines_and_is_another_each_time() -> None:
    found = outcomes("tool.misleading", OPTIONS, 0.7, seeds=200)
    assert len(set(found)) >= 120
    keys = [key for after in found for key in json.loads(after) if key != "hotels"]
    assert len(set(keys)) > 8
    assert len(set(shown("tool.misleading", result_target(PASSAGE), 1.0, seeds=200))) >= 50
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
    tool = "fetch_page" if name == "tool.prompt_injection" else "get_reservation"
    target = replace(result_target(PASSAGE), tool=tool)
    (draw, _), *_ = (one for one in acts(name, target) if one is not None)
    again = replace(target, branch=Branch(phrases=frozenset(draw["phrases"])))
    for one in acts(name, again, seeds=60):
        assert one is None or not set(one[0]["phrases"]) & set(draw["phrases"])


@pytest.mark.parametrize("severity", [0.1, 0.5, 1.0])
def test_what_is_added_to_an_object_says_nothing_or_repeats_the_request(severity: float) -> None:
    for after in map(json.loads, outcomes("tool.context_pressure", BAGGAGE_TEXT, severity, seeds=10)):
        added = [one for key, one in after.items() if key not in BAGGAGE]
        said = [one for one in added if one]
        assert said in ([], [{"reservation_id": "KX93TL"}])
        empty = len(added) - len(said)
        assert said if empty == 0 else empty <= max(1, 8 * severity)


def test_of_empty_fields_that_mean_the_same_there_is_one() -> None:
    for tool in ("get_weather", "startEngine", "calculate_area", "get_file"):
        target = replace(result_target('{"value": 3}', {}), tool=tool)
        for after in map(json.loads, shown("tool.context_pressure", target)):
            assert all(len(one & after.keys()) < 2 for one in MEANINGS)
            assert "locked_by" not in after or tool == "get_file"


def test_json_of_one_line_is_indented_and_each_record_gets_the_same_fields() -> None:
    for after in outcomes("tool.context_pressure", RECORDS):
        assert "\n" in after
        assert len({tuple(one) for one in json.loads(after)}) == 1


def test_a_commands_text_stands_behind_the_sessions_earlier_commands() -> None:
    def item(command: str, text: str) -> ToolResult:
        made = ToolCall("c", "bash", json.dumps({"command": command}))
        return ToolResult(Ref(0), text, "call:c#0", 0, made, "logical:1")

    branch = Branch(earlier=(item("pwd", "/srv/app"), item("ls", "README.md\nsrc\n")))
    target = replace(result_target("main 3 files\n", {"command": "git status"}), tool="bash", branch=branch)
    for text in shown("tool.context_pressure", target, 0.5, seeds=3):
        assert text == "$ pwd\n/srv/app\n$ ls\nREADME.md\nsrc\n$ git status\nmain 3 files\n"
    assert shown("tool.context_pressure", result_target(PASSAGE), 1, 3) == [PASSAGE] * 3


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
    kinds = {"@example." in one: one for one in canaries}
    assert len(kinds) == 2


def test_an_injected_instruction_stands_behind_a_text_that_others_wrote() -> None:
    for after in map(json.loads, outcomes("tool.prompt_injection", HOTEL)):
        clean = json.loads(HOTEL)
        said = after["reviews"][0].pop("text")
        clean["reviews"][0].pop("text")
        assert after == clean and said.startswith(f"{REVIEW} ") and len(said) > len(REVIEW) + 12
    page = replace(result_target(PASSAGE), tool="fetch_page")
    assert all(after.startswith(f"{PASSAGE} ") for after in shown("tool.prompt_injection", page))


def test_an_injected_instruction_stands_behind_a_sellers_description() -> None:
    text = json.dumps({"name": "Mug", "description": "A large mug of clay that keeps your tea warm."})
    for after in map(json.loads, outcomes("tool.prompt_injection", text)):
        assert after["description"].startswith("A large mug of clay that keeps your tea warm. ")


def test_a_record_to_which_people_write_gets_a_field_for_an_injected_instruction() -> None:
    clean = {"orderId": "W12", "items": [{"name": "Mug"}], "total": 12.5}
    target = replace(result_target(json.dumps(clean)), tool="get_order_details")
    texts = set()
    for after in map(json.loads, shown("tool.prompt_injection", target)):
        (added,) = after.keys() - clean.keys()
        assert added in {"customerNote", "orderNote", "buyerNote", "comment"}
        texts.add(after.pop(added))
        assert after == clean
    assert len(texts) == 40
    for tool, other in (("place_order", clean), ("get_weather", clean), ("get_order", {"symbol": "MSFT"})):
        text = json.dumps(other)
        assert shown("tool.prompt_injection", replace(result_target(text), tool=tool)) == [text] * 40


def test_where_nobody_else_wrote_anything_there_is_no_injected_instruction() -> None:
    said = json.dumps({"status": "The parcel has been moved to the depot in Oslo successfully."})
    for text in (BAGGAGE_TEXT, said, HOTEL):
        target = replace(result_target(text, {"text": REVIEW}), tool="measure")
        assert shown("tool.prompt_injection", target) == [text] * 40


def test_what_the_user_sent_and_what_a_command_reports_gets_no_injected_instruction() -> None:
    for tool, arguments in (("view_messages_sent", {}), ("bash", {"command": "systemctl is-active web"})):
        target = replace(result_target(PASSAGE, arguments), tool=tool)
        assert shown("tool.prompt_injection", target) == [PASSAGE] * 40
    shows = replace(result_target(PASSAGE, {"command": "cat notes.md"}), tool="bash")
    assert len(set(shown("tool.prompt_injection", shows))) > 30


@pytest.mark.parametrize(
    "text",
    [
        "Das Zimmer war sauber und ruhig, aber das Frühstück hat uns leider gar nicht geschmeckt.",
        "酒店位置很好，服务员也很热情，就是房间有点小，早餐种类不多。",
        "駅から近くてとても便利でした。部屋は少し狭いですが、スタッフはとても親切でした。",
    ],
)
def test_an_injected_instruction_is_in_the_texts_language(text: str) -> None:
    review = json.dumps({"reviews": [{"text": text}]}, ensure_ascii=False)
    for after in map(json.loads, outcomes("tool.prompt_injection", review)):
        said = after["reviews"][0]["text"]
        assert said.startswith(text) and detect_language(said) is detect_language(text) is not None


def test_severity_of_an_injected_instruction_is_its_probability() -> None:
    assert 30 < len(outcomes("tool.prompt_injection", HOTEL, severity=0.4, seeds=120)) < 66


def test_sums_are_shown_as_their_currency_has_them() -> None:
    shown = [
        display(key, value, 0, currency)
        for key, value, currency in (
            ("total", 13800.0, "JPY"),
            ("total", 138.5, "USD"),
            ("amount", 150.0, None),
            ("brakePedalForce", 1000.0, None),
            ("total", float("inf"), "JPY"),
        )
    ]
    assert shown == ["13,800 JPY", "138.50 USD", None, "1,000", None]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Der Bericht LM-1884-12 vom 18. August liegt vor.", "Das Bild hing in Nr. 4, sagt Dr. Meier."),
        ("The frame was cleaned by conservator H. Lindqvist.", "It weighs approx. 5 kg, as No. 12 says."),
    ],
)
def test_the_dot_of_an_ordinal_an_initial_or_an_abbreviation_ends_no_sentence(
    first: str, second: str
) -> None:
    both = f"{first} {second}"
    for text in (both, both.replace("vom 18. ", "vom 18.\n").replace("H. ", "H.\n")):
        for seed in range(10):
            [line] = restate_text(text, SeededRandom(f"{seed}"), 200)
            assert line.endswith((first, second)) and not line.endswith(both), line


@pytest.mark.parametrize("figure", [1e400, -1e400, float("nan"), 1e16, 10**400])
def test_a_figure_that_nobody_reads_as_digits_is_not_said_again(figure: float) -> None:
    assert display("price", figure, 0, "EUR") is None
    assert display("distance_km", figure, 0) is None


def test_entries_of_two_packs_that_have_one_id_are_told_apart() -> None:
    status = "Der Flug ist bestätigt, und der Preis wurde bezahlt."
    told = json.dumps({"flight": "LH1", "price": 120, "subscription": "gold", "status": status})
    target = replace(result_target(told), tool="get_subscription")
    operator = registry.operators()["tool.misleading"].implementation
    draws = [operator.draw(target, SeededRandom(f"packs|{seed}"), 0.9) for seed in range(100)]
    named = {phrase.partition("#")[0] for draw in draws if draw for phrase in draw["phrases"]}
    assert {one.partition("@")[0] for one in named} == {"de/support"}
