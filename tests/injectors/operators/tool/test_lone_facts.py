"""False facts where none stands alone: an only number, what keeps its place among others, words of a text."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from crosswind.injectors.targets import ToolClass
from tests.injectors.operators.acting import result_target, shown


def falsify(text: str, tool: str = "read", kind: ToolClass = ToolClass.READ_ONLY) -> list[str]:
    target = replace(result_target(text), tool=tool, tool_class=kind)
    return [noisy for noisy in shown("tool.erroneous", target, 1.0) if noisy != text]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("42", ""),
        ("372.50 CAD", " CAD"),
        ("128 a.txt", " a.txt"),
        ("[[1899.5]]", "[["),
        ("6 passed in 0.84s", "6 passed in "),
        ('{"shopLocation": "456 Oakwood Avenue, Rivermist"}', " Oakwood Avenue, Rivermist"),
        ("-rw-r--r-- 1 ana ana 2048 Mar  4 10:20 notes.txt\n", " notes.txt"),
        ('{"files": ["a.txt", "b.md", "c.csv"]}', '{"files": ["a.txt"'),
        ('{"latitude": 52.517, "longitude": 13.389}', "longitude"),
    ],
)
def test_the_only_fact_of_a_result_may_be_false(text: str, kept: str) -> None:
    found = falsify(text)
    assert found and all(kept in noisy and len(noisy) <= len(text) + 1 for noisy in found)


def test_a_time_stays_between_those_beside_it() -> None:
    events = [{"start": "09:30", "end": "10:15"}, {"start": "12:00", "end": "13:00"}]
    found = falsify(json.dumps({"events": events}))
    assert found
    for noisy in map(json.loads, found):
        times = [one[key] for one in noisy["events"] for key in ("start", "end")]
        assert times == sorted(times) and len(set(times)) == 4


def test_of_two_moments_of_a_day_the_hour_is_another() -> None:
    text = '[{"departs": "2031-03-01T07:10", "arrives": "2031-03-01T09:55"}]'
    found = [json.loads(noisy)[0] for noisy in falsify(text)]
    assert found and all(one["departs"] < one["arrives"] for one in found)
    assert all(one[key].startswith("2031-03-01T") for one in found for key in one)


def test_an_end_doesnt_pass_the_other() -> None:
    days: list[dict[str, Any]] = [{"low": -3, "high": 2}, {"low": 0, "high": 6}]
    found = [json.loads(noisy) for noisy in falsify(json.dumps(days))]
    assert found and all(one["low"] < one["high"] for noisy in found for one in noisy)


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("The server always keeps the files of a user.", {"never", "rarely"}),
        ('{"note": "Take the first door on the way in."}', {"second", "third"}),
        ("We met an old man in the garden there.", set()),
        ("He left the house near the high school.", set()),
    ],
)
def test_a_word_of_a_text_is_another_that_fits(text: str, made: set[str]) -> None:
    words = {noisy_word for noisy in falsify(text) for noisy_word in set(noisy.split()) - set(text.split())}
    assert words == made


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ('{"id": 7, "status": "Cancelled"}', {"Cancelling", "Cancellation pending"}),
        ('{"id": 7, "status": "sent"}', {"pending", "queued"}),
        ('{"id": 7, "status": "sent", "note": "Sent."}', {"sent"}),
        ('{"ride": "R-1", "driver": "x", "eta": "14:25"}', {None}),
    ],
)
def test_a_write_is_not_as_far_as_it_says(text: str, made: set[str | None]) -> None:
    found = falsify(text, "place_order", ToolClass.UNKNOWN)
    said = {json.loads(noisy).get("status") for noisy in found or [text]}
    assert said == made
    assert bool(found) is ("note" not in text)


def test_a_time_of_a_write_that_asked_for_one_stays() -> None:
    text = '{"ride": "R-1", "driver": "x", "eta": "14:25"}'
    target = replace(result_target(text), tool="book_ride", tool_class=ToolClass.UNKNOWN)
    assert set(shown("tool.erroneous", target, 1.0)) != {text}
    asked = replace(target, arguments='{"day": "2031-03-01"}')
    assert set(shown("tool.erroneous", asked, 1.0)) == {text}
