"""False facts in a result, and how an agent can tell."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest

from crosswind.injectors import registry
from crosswind.injectors.text.json_payload import RESTATED
from tests.injectors.operators.tool.acting import BAGGAGE, BAGGAGE_TEXT, PASSAGE, outcomes, repeated, rule


def test_the_example_of_incorrect_facts_keeps_the_id_and_falsifies_others() -> None:
    """AgentNoiseBench, appendix B. Its example drops fields, disputes nothing; solvability wins: ours keeps
    every field, and a field beside each false one has the true value."""
    assert registry.resolve("error").name == "tool.erroneous"
    found = [json.loads(text) for text in outcomes("error")]
    falsified: Counter[str] = Counter()
    for noisy in found:
        false = [key for key in BAGGAGE if noisy[key] != BAGGAGE[key]]
        falsified.update(false)
        assert 1 <= len(false) <= 3
        assert noisy["reservation_id"] == "KX93TL"
        assert all(type(noisy[key]) is type(BAGGAGE[key]) for key in BAGGAGE)
        added = noisy.keys() - BAGGAGE.keys()
        assert added in [{key + end for key in false} for end in RESTATED]
        assert all(BAGGAGE[re.sub("|".join(RESTATED), "", key)] == noisy[key] for key in added)
    assert set(falsified) == BAGGAGE.keys() - {"reservation_id"}


def test_a_false_word_is_one_of_the_same_kind() -> None:
    cabins = {json.loads(text)["cabin"] for text in outcomes("tool.erroneous", seeds=80)}
    assert cabins == {"basic_economy", "economy", "premium_economy", "business", "first_class"}


def test_the_same_call_again_gives_the_truth() -> None:
    first, second, third = repeated(rule("tool.erroneous"))
    assert first != BAGGAGE_TEXT
    assert second == third == BAGGAGE_TEXT
    assert any(repeated("agentnoisebench/error", seed=seed)[0] != BAGGAGE_TEXT for seed in range(4))


def test_plain_text_has_false_figures_and_says_so() -> None:
    for text in outcomes("tool.erroneous", PASSAGE):
        passage, dispute = text.split("\n")
        assert passage != PASSAGE and "1931" in passage
        assert "Consistency check failed" in dispute
        assert any(figure in dispute and figure not in passage for figure in ("24.5", "310"))


@pytest.mark.parametrize(
    "text",
    [
        '{"order_id": "W1", "email": "a@b.c", "count": 3, "due": "2031-05-02"}',
        '{"total": 3, "total_on_file": 3, "a_confirmed": 1, "b_per_record": 2}',
        "Nothing was found there.",
        "[1, 2, 3]",
        "7",
    ],
)
def test_what_names_a_thing_and_what_has_no_fact_is_left_alone(text: str) -> None:
    assert outcomes("tool.erroneous", text) == []


def test_what_the_call_itself_said_stays() -> None:
    text = '{"city": "north", "total": 17, "floor": 3}'
    for noisy in outcomes("tool.erroneous", text, arguments={"city": "north", "total": 17}):
        assert (json.loads(noisy)["city"], json.loads(noisy)["total"]) == ("north", 17)
