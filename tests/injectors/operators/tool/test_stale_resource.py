"""A resource as this session saw it before, or as it may have been."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from crosswind.injectors.conversation import Ref, ToolCall, ToolResult, ToolSchema
from crosswind.injectors.targets import Branch, ToolResultTarget
from tests.injectors.operators.acting import acts, result_target

ISSUE = {
    "id": "I-7",
    "state": "closed",
    "replies": 24,
    "updated_at": "2031-05-09T10:00:00Z",
    "labels": ["bug"],
}


def earlier(value: object, tool: str = "list_issues", arguments: str = "{}") -> ToolResult:
    call = ToolCall("c", tool, arguments)
    return ToolResult(Ref(0), json.dumps(value), "a", 0, call, f"{tool}{arguments}")


def stale(target: ToolResultTarget) -> list[dict[str, Any]]:
    return [json.loads(one[1]) for one in acts("tool.stale_resource", target) if one is not None]


def test_it_shows_what_the_session_saw_of_the_same_resource() -> None:
    before = {"issues": [{"id": "I-9", "state": "new"}, {"id": "I-7", "state": "triaged", "replies": 21}]}
    branch = Branch(earlier=(earlier(before), earlier({"id": "I-8", "state": "won't fix"})))
    target = replace(result_target(json.dumps(ISSUE), {}), branch=branch)
    for noisy in stale(target):
        assert (noisy["state"], noisy["replies"]) == ("triaged", 21)
        assert noisy["updated_at"] < ISSUE["updated_at"] and noisy["labels"] == ["bug"]


def test_what_the_same_call_said_before_stands_for_records_without_an_id() -> None:
    target = result_target('{"level": 0.4, "open": true}')
    same = earlier({"level": 0.9, "open": True}, target.tool, target.arguments)
    other = earlier({"level": 0.1, "open": True}, target.tool, '{"reservation_id": "other"}')
    for noisy in stale(replace(target, branch=Branch(earlier=(same, other)))):
        assert (noisy["level"], noisy["open"]) == (0.9, True)


def test_otherwise_counters_are_lower_and_states_are_those_before() -> None:
    schema = {
        "type": "object",
        "properties": {"state": {"type": "string", "enum": ["new", "triaged", "closed"]}},
    }
    target = replace(
        result_target(json.dumps(ISSUE), {}),
        tool="get_issue",
        tools=(ToolSchema("list_issues", "List issues.", schema),),
    )
    seen = stale(target)
    assert {noisy["state"] for noisy in seen} == {"triaged", "closed"}
    assert all(noisy["replies"] <= 24 for noisy in seen) and any(noisy["replies"] < 24 for noisy in seen)
    assert all(noisy["updated_at"] < ISSUE["updated_at"] for noisy in seen)


def test_it_says_nothing_of_its_age_and_a_change_s_receipt_has_no_earlier_state() -> None:
    target = result_target(json.dumps(ISSUE), {})
    assert all(set(noisy) == set(ISSUE) for noisy in stale(target))
    assert stale(replace(target, tool="update_issue")) == []


@pytest.mark.parametrize(
    "text",
    [
        '{"gallery": "seven", "measured_at": "2027-03-02T09:14:00+01:00"}',
        '{"moved": "2027-03-02"}',
        '{"moved": "18 April 2027"}',
        '{"begins": "11:20"}',
        "Saal 9: Messung 09:20 Uhr.",
    ],
)
def test_a_stale_time_is_an_earlier_one(text: str) -> None:
    numbers = [int(one) for one in re.findall(r"\d+", text)]
    seen = [one[1] for one in acts("tool.stale_resource", result_target(text, {})) if one is not None]
    assert seen
    for after in seen:
        was = [int(one) for one in re.findall(r"\d+", after)]
        assert was < numbers and len(was) == len(numbers)


def test_what_never_ages_is_never_stale() -> None:
    works = [{"title": "Winter", "medium": "tempera"}, {"title": "Ferry", "medium": "tempera"}]
    works.append({"title": "Pipe", "medium": "charcoal"})
    assert stale(result_target(json.dumps(works), {})) == []
    report = "Condition report, 18 February 2027. A retouching of about 2 cm. Humidity of 45 %."
    target = result_target(report, {})
    assert list(acts("tool.stale_resource", replace(target, tool="get_condition_report"))) == [None] * 40
    assert any(acts("tool.stale_resource", replace(target, tool="get_weather_report")))
