"""The axes that RobustBench-TC names as future work, as far as they act on results and destroy them."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from crosswind.injectors import registry
from crosswind.injectors.conversation import ToolSchema
from crosswind.injectors.operators.tool.errors import ACKNOWLEDGEMENTS
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import ToolClass
from tests.injectors.operators.tool.acting import BAGGAGE, BAGGAGE_TEXT, outcomes, repeated, rule, target

ORDER = {"order_id": "#W77", "status": "delivered", "placed": "2031-05-02", "total": 38.5, "gift": False}
ORDER_TEXT = json.dumps(ORDER)
DESTROYING = ("fabricated_observation", "silent_noop", "stale_resource", "prerequisite")


@pytest.mark.parametrize("name", DESTROYING)
def test_the_call_made_again_tells_the_truth(name: str) -> None:
    first, second, third = repeated(rule(f"tool.{name}"), ORDER_TEXT)
    assert first != ORDER_TEXT
    assert second == third == ORDER_TEXT


@pytest.mark.parametrize("name", DESTROYING)
def test_severity_is_the_probability(name: str) -> None:
    assert 65 < len(outcomes(f"tool.{name}", ORDER_TEXT, 0.4, seeds=200)) < 95


def test_a_fabricated_record_has_the_fields_of_the_true_one_and_is_nobodys() -> None:
    for text in outcomes("tool.fabricated_observation"):
        noisy = json.loads(text)
        assert list(noisy) == [*BAGGAGE, "errors"]
        assert noisy["reservation_id"] == "KX00TL"
        assert all(noisy[key] != value for key, value in BAGGAGE.items())
        assert all(type(noisy[key]) is type(value) for key, value in BAGGAGE.items())
        assert "generated" in noisy["errors"][0]


def test_a_fabricated_record_is_not_made_of_what_can_not_be_told_from_the_truth() -> None:
    for text in ("[]", "{}", "plain words here", '{"errors": [], "total": 3}', '{"note": "hello there"}'):
        assert outcomes("tool.fabricated_observation", text) == []


def test_a_stale_result_shows_an_earlier_status_and_says_that_it_is_stale() -> None:
    seen = [json.loads(text) for text in outcomes("tool.stale_resource", ORDER_TEXT)]
    assert {noisy["status"] for noisy in seen} == {"delivered", "in transit"}
    for noisy in seen:
        assert noisy["stale"] is True
        assert {**noisy, "status": "delivered", "total": 38.5} == ORDER | {"stale": True}
        assert (noisy["status"], noisy["total"]) != ("delivered", 38.5)
    assert outcomes("tool.stale_resource", '{"order_id": "#W77", "status": "draft"}') == []


def test_a_silent_noop_gives_success_and_nothing_and_leaves_writes_alone() -> None:
    assert set(outcomes("tool.silent_noop")) == set(ACKNOWLEDGEMENTS)
    entry, write = registry.resolve("tool.silent_noop"), replace(target(), tool_class=ToolClass.IDEMPOTENT)
    assert all(entry.implementation.draw(write, Stream(str(seed)), 1.0) is None for seed in range(20))
    assert outcomes("tool.silent_noop", "plain words here") == []


def test_a_prerequisite_is_a_declared_tool_that_only_reads_or_the_sessions_own() -> None:
    names = ("get_reservation", "cancel_reservation", "list_flights", "search_routes", "get_or_create_case")
    entry = registry.resolve("tool.prerequisite")
    on = replace(target(), tools=tuple(ToolSchema(name, "", {}) for name in names))
    named = set()
    for seed in range(60):
        draw = entry.implementation.draw(on, Stream(str(seed)), 1.0)
        assert draw is not None
        named.update(re.findall("a call of (.*) to have", draw["text"]))
    assert named == {"list_flights", "search_routes"}
    assert all("the set-up of the session" in text for text in outcomes("tool.prerequisite", BAGGAGE_TEXT))
