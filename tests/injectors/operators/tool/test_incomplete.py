"""Results with a part missing, cut as systems cut."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from crosswind.injectors import registry
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Branch, Half, ToolClass, ToolResultTarget
from crosswind.injectors.text.json_payload import NOT_JSON, looks_destroyed, parse_json
from tests.injectors.operators.acting import BAGGAGE, BAGGAGE_TEXT, PASSAGE, acts, outcomes, result_target

ROOMS = json.dumps(
    {"hotel": "Alba", "rooms": [{"room": at, "price": 90 + at} for at in range(7)], "count": 7}
)
ROWS = json.dumps([{"id": at, "name": f"n{at}"} for at in range(6)])
LOG = "\n".join(f"2026-03-0{at} 10:0{at} started job {at}" for at in range(1, 9))
MCP = json.dumps({"content": [{"type": "text", "text": PASSAGE}]})


def cuts(text: str, half: Half = Half.TRAIN, seeds: int = 200) -> list[str]:
    entry = registry.resolve("tool.incomplete")
    found = []
    for seed in range(seeds):
        of = ToolResultTarget(
            text, 0, "get_it", "{}", ToolClass.READ_ONLY, branch=Branch(half, f"{seed}", "Hello")
        )
        draw = entry.draw({}, of, SeededRandom(f"{seed}"), 1.0)
        assert draw is not None
        found.append(str(entry.apply(of, json.loads(json.dumps(draw))).payload))
    return found


@pytest.mark.parametrize("half", Half)
@pytest.mark.parametrize("text", [BAGGAGE_TEXT, PASSAGE, ROOMS, ROWS, LOG, MCP])
def test_every_cut_can_be_told_and_none_is_the_rule(text: str, half: Half) -> None:
    found = cuts(text, half)
    assert all(looks_destroyed(one, text) for one in found)
    assert sum('"incomplete": true' in one for one in found) < len(found) / 4


def test_the_example_of_partial_output_drops_fields_and_adds_nothing_false() -> None:
    """AgentNoiseBench, appendix B: two of six fields are missing, the rest is true. So short a result isn't
    cut within its JSON, as there; a long one is."""
    for noisy in map(parse_json, cuts(BAGGAGE_TEXT)):
        kept = {key: value for key, value in noisy.items() if key in BAGGAGE and value is not None}
        assert kept.items() < BAGGAGE.items()
    long = json.dumps(json.loads(LISTED), indent=2)
    assert any(parse_json(text) is NOT_JSON and text[:10] == long[:10] for text in cuts(long))


def test_a_single_field_is_named_as_one() -> None:
    entry = registry.resolve("tool.incomplete")
    of = result_target(json.dumps({"code": "B-1", "bin": "B07"}))
    for names, said in ((["bin"], "field bin."), (["code", "bin"], "fields code, bin.")):
        note = entry.apply(of, {"drop": names, "null": True, "add": {}}).note
        assert note is not None and note.endswith(f"lost its {said}")


LISTED = json.dumps({"hotel": "Alba", "rooms": [{"room": at, "price": 90 + at} for at in range(20)]})


def test_a_list_keeps_its_first_elements_and_says_that_there_are_more() -> None:
    whole = json.loads(ROOMS)
    pages = [
        value for text in cuts(ROOMS) if (value := parse_json(text)) is not NOT_JSON and "rooms" in value
    ]
    cut = [page for page in pages if page["rooms"] is not None and len(page["rooms"]) < 7]
    assert len(cut) > 40
    for page in cut:
        assert page["rooms"] == whole["rooms"][: len(page["rooms"])]
        assert page["hotel"] == "Alba" and page["count"] == 7


def test_a_bare_list_keeps_its_first_elements() -> None:
    whole = json.loads(ROWS)
    for text in cuts(ROWS):
        value = parse_json(text)
        if value is not NOT_JSON:
            assert value[:-1] == whole[: len(value) - 1] and not value[-1].keys() & whole[0].keys()


def test_a_text_is_cut_at_its_end_at_a_line_or_in_its_middle() -> None:
    ends = {PASSAGE.startswith(text[:30]) for text in cuts(PASSAGE)}
    assert ends == {True} or len(ends) == 2
    long = " ".join([PASSAGE] * 4)
    assert any(text == long[: len(text)] for text in cuts(long)), "some end within a word, and say nothing"
    assert not any(text == PASSAGE[: len(text)] for text in cuts(PASSAGE))
    assert any(text.endswith(("lines)", "truncated]")) or "--More--" in text for text in cuts(LOG))


def test_a_systems_cuts_say_it_alike_in_one_session() -> None:
    entry = registry.resolve("tool.incomplete")
    marks = set()
    for seed in range(60):
        listed = f'{{"items": {ROWS}}}'
        of = ToolResultTarget(listed, 0, "get_it", "{}", ToolClass.READ_ONLY, branch=Branch(key="one"))
        draw = entry.draw({}, of, SeededRandom(f"{seed}"), 1.0)
        assert draw is not None
        if draw.get("add"):
            marks.add(tuple(draw["add"]))
    assert len(marks) == 1


def test_two_hundred_seeds_give_many_texts() -> None:
    assert len(set(cuts(ROOMS))) >= 120
    assert len(set(cuts(BAGGAGE_TEXT))) >= 140


def test_what_is_no_service_only_has_its_output_cut_and_marked() -> None:
    entry = registry.resolve("tool.incomplete")
    listed = json.dumps({"matching_lines": [f"line {at} of the log" for at in range(6)], "count": 6})
    for seed in range(60):
        of = ToolResultTarget(
            listed, 0, "grep", "{}", ToolClass.READ_ONLY, branch=Branch(list(Half)[seed % 2], f"{seed}")
        )
        draw = entry.draw({}, of, SeededRandom(f"{seed}"), 1.0)
        assert draw is not None
        after = str(entry.apply(of, draw).payload)
        value = parse_json(after)
        assert value is NOT_JSON or value.keys() == {"matching_lines", "count"}
        assert value is not NOT_JSON or not listed.startswith(after), "a mark says that it was cut"


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("cd", '{"current_working_directory": "docs"}'),
        ("book_flight", '{"booking_id": "K1", "booked": true}'),
    ],
)
def test_what_no_system_cuts_is_left_alone(tool: str, text: str) -> None:
    entry = registry.resolve("tool.incomplete")
    of = ToolResultTarget(text, 0, tool, "{}", ToolClass.READ_ONLY)
    assert all(entry.draw({}, of, SeededRandom(f"{seed}"), 1.0) is None for seed in range(40))


def ways(tool: str, text: str, arguments: str = "{}") -> list[object]:
    """What the operator makes of a result, as JSON."""
    entry, found = registry.resolve("tool.incomplete"), []
    for seed in range(60):
        of = ToolResultTarget(text, 0, tool, arguments, ToolClass.READ_ONLY, branch=Branch(key=f"{seed}"))
        if (draw := entry.draw({}, of, SeededRandom(f"{seed}"), 1.0)) is not None:
            found.append(parse_json(str(entry.apply(of, draw).payload)))
    return [one for one in found if one is not NOT_JSON]


PAGING = {"nextcursor", "hasmore", "nextpagetoken", "cursor", "next", "links", "continuation"}


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("post_message", '{"id": 4, "content": "Hello", "tags": ["#a", "#b", "#c"], "likes": 0}'),
        ("describe_table", '{"table": "orders", "columns": [{"name": "id"}, {"name": "at"}], "rows": 18231}'),
    ],
)
def test_a_receipt_and_a_single_record_have_no_further_page(tool: str, text: str) -> None:
    for one in ways(tool, text):
        assert isinstance(one, dict)
        assert not PAGING & {key.replace("_", "").lower() for key in one}


def test_a_device_lacks_readings_and_says_which() -> None:
    text = '{"engineState": "running", "fuelLevel": 15.5, "batteryVoltage": 12.8}'
    clean = json.loads(text)
    found = ways("display_car_status", text)
    assert len(found) == 60
    for one in found:
        assert isinstance(one, dict) and "http" not in json.dumps(one).lower()
        assert {key: one[key] for key in clean if one.get(key) is not None}.items() < clean.items()


def test_a_receipt_of_a_change_is_left_alone() -> None:
    engine = '{"engineState": "running", "fuelLevel": 15.5, "batteryVoltage": 12.8}'
    order = '{"order_id": 12446, "status": "Pending", "price": 150.0}'
    assert ways("startEngine", engine) == ways("place_order", order) == []


def test_the_size_of_a_page_is_told_for_longer_lists_only() -> None:
    text = json.dumps({"rooms": [{"name": "Blue"}, {"name": "Red"}, {"name": "Green"}]})
    for one in ways("list_rooms", text):
        assert isinstance(one, dict) and not {"limit", "maxResults", "MaxItems", "pages"} & one.keys()


def test_no_row_of_a_list_says_that_there_are_more() -> None:
    rows = json.dumps([{"id": at, "city": "Oslo"} for at in range(12)])
    target = replace(result_target(rows, {"query": "SELECT id, city FROM customers"}), tool="run_query")
    for shown in (one[1] for one in acts("tool.incomplete", target) if one is not None):
        read = json.JSONDecoder().raw_decode(shown)[0] if "]" in shown else []
        assert all(set(one) == {"id", "city"} for one in read)


def test_an_item_that_stands_for_the_rest_says_so_in_words() -> None:
    listed = json.dumps({"current_directory_content": ["a.txt", "b.txt", "report.pdf", "src"]})
    target = replace(result_target(listed, {}), tool="ls")
    for shown in (one[1] for one in acts("tool.incomplete", target) if one is not None):
        assert any(map(str.isalpha, json.loads(shown)["current_directory_content"][-1]))


def test_a_short_list_is_not_cut() -> None:
    for text in (json.dumps([{"id": "W1", "state": "new"}] * 3), '{"items": ["kettle", "lamp", "rug"]}'):
        assert outcomes("tool.incomplete", text) == []


def test_what_follows_from_a_lost_reading_is_lost_with_it() -> None:
    text = '{"frontTirePressure": 32.0, "rearTirePressure": 30.0, "healthy_tire_pressure": true, "fuel": 9.5}'
    found = ways("display_car_status", text)
    assert found
    for one in found:
        assert isinstance(one, dict)
        tires = [one.get(key) for key in ("frontTirePressure", "rearTirePressure")]
        assert None not in tires or one.get("healthy_tire_pressure") is None


def test_the_core_of_a_record_stays_where_it_has_other_fields() -> None:
    text = '{"order_id": 7, "status": "open", "price": 12.5, "note": "ring twice", "views": 31}'
    found = ways("get_order_details", text)
    assert found
    for one in found:
        assert isinstance(one, dict) and (one["status"], one["price"]) == ("open", 12.5)
