"""False facts in a result, and how an agent can tell."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from crosswind.injectors.text.json_payload import RESTATED
from tests.injectors.operators.acting import BAGGAGE, PASSAGE, outcomes

ORDER = {"order_id": "#W77", "status": "delivered", "placed": "2031-05-02", "total": 38.5, "gift": False}
ORDER_TEXT = json.dumps(ORDER)


def test_every_fact_but_the_id_may_be_false_and_is_restated_beside() -> None:
    falsified: Counter[str] = Counter()
    for noisy in map(json.loads, outcomes("error")):
        false = [key for key in BAGGAGE if noisy[key] != BAGGAGE[key]]
        falsified.update(false)
        assert all(type(noisy[key]) is type(BAGGAGE[key]) for key in BAGGAGE)
        assert noisy.keys() - BAGGAGE.keys() in [{key + end for key in false} for end in RESTATED]
    assert set(falsified) == BAGGAGE.keys() - {"reservation_id"}


def test_a_false_word_is_one_of_the_same_kind() -> None:
    cabins = {json.loads(text)["cabin"] for text in outcomes("tool.erroneous", seeds=80)}
    assert cabins == {"basic_economy", "economy", "premium_economy", "business", "first_class"}


def test_plain_text_has_false_figures_and_says_so() -> None:
    for text in outcomes("tool.erroneous", PASSAGE):
        passage, dispute = text.split("\n")
        assert passage != PASSAGE and "1931" in passage
        assert "Consistency check failed" in dispute
        assert any(figure in dispute and figure not in passage for figure in ("24.5", "310"))


@pytest.mark.parametrize(
    "name,text",
    [
        ("tool.erroneous", '{"order_id": "W1", "email": "a@b.c", "count": 3, "due": "2031-05-02"}'),
        ("tool.erroneous", '{"total": 3, "total_on_file": 3, "a_confirmed": 1, "b_per_record": 2}'),
        ("tool.erroneous", "Nothing was found there."),
        ("tool.erroneous", "[1, 2, 3]"),
        ("tool.erroneous", "7"),
        ("tool.fabricated_observation", "[]"),
        ("tool.fabricated_observation", "{}"),
        ("tool.fabricated_observation", "plain words here"),
        ("tool.fabricated_observation", '{"errors": [], "total": 3}'),
        ("tool.fabricated_observation", '{"note": "hello there"}'),
        ("tool.stale_resource", '{"order_id": "#W77", "status": "draft"}'),
    ],
)
def test_what_has_no_fact_or_can_not_be_told_from_the_truth_is_left_alone(name: str, text: str) -> None:
    assert outcomes(name, text) == []


def test_what_the_call_itself_said_stays() -> None:
    text = '{"city": "north", "total": 17, "floor": 3}'
    for noisy in outcomes("tool.erroneous", text, arguments={"city": "north", "total": 17}):
        assert (json.loads(noisy)["city"], json.loads(noisy)["total"]) == ("north", 17)


@pytest.mark.parametrize("name", ["tool.fabricated_observation", "tool.stale_resource"])
def test_severity_is_the_probability(name: str) -> None:
    assert 65 < len(outcomes(name, ORDER_TEXT, 0.4, seeds=200)) < 95


def test_a_fabricated_record_has_the_fields_of_the_true_one_and_is_nobodys() -> None:
    for noisy in map(json.loads, outcomes("tool.fabricated_observation")):
        assert list(noisy) == [*BAGGAGE, "errors"]
        assert noisy["reservation_id"] == "KX00TL"
        assert all(noisy[key] != value for key, value in BAGGAGE.items())
        assert all(type(noisy[key]) is type(value) for key, value in BAGGAGE.items())
        assert "generated" in noisy["errors"][0]


def test_a_stale_result_shows_an_earlier_status_and_says_that_it_is_stale() -> None:
    seen = [json.loads(text) for text in outcomes("tool.stale_resource", ORDER_TEXT)]
    assert {noisy["status"] for noisy in seen} == {"delivered", "in transit"}
    for noisy in seen:
        assert noisy["stale"] is True
        assert {**noisy, "status": "delivered", "total": 38.5} == ORDER | {"stale": True}
        assert (noisy["status"], noisy["total"]) != ("delivered", 38.5)
