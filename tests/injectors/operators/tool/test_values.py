"""False values that are plausible, and what the call's own arguments hold."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosswind.injectors.operators.tool.false_values.figures import read_figure, write_figure
from crosswind.injectors.operators.tool.false_values.values import (
    Alternatives,
    draw_other,
    find_earlier_word,
    find_neighbours,
)
from crosswind.injectors.operators.tool.result_facts import find_facts
from crosswind.injectors.operators.words.vocabularies import VOCABULARIES
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.text.json_leaves import is_asked_for
from tests.injectors.operators.acting import result_target

FIGURES = st.one_of(
    st.integers(2, 10**7).map(str),
    st.decimals(1, 10**6, places=2).map(str),
    st.decimals(1, 9, places=1).map(str),
)
PIECES = st.lists(st.sampled_from([*'ab_1 .-"', "½", "²", "é", "\u0301", "ab", "aa", "\n"]), max_size=14)


@settings(max_examples=200, deadline=None)
@given(value=FIGURES, seed=st.integers(0, 10**6))
def test_a_false_figure_is_another_one_written_in_the_same_way(value: str, seed: int) -> None:
    result = replace(result_target(json.dumps({"price": 0}).replace("0", value)), arguments="{}")
    facts = find_facts(result)
    false = draw_other(facts[0], Alternatives(result, facts), SeededRandom(str(seed))) if facts else None
    if false is not None:
        assert false != value and re.sub(r"\d+", "", false) == re.sub(r"\d+", "", value)
        assert false.partition(".")[2] == "" or len(false.partition(".")[2]) == len(value.partition(".")[2])


@pytest.mark.parametrize(
    "written,value",
    [("430,000", 430000), ("1.234,56", 1234.56), ("21,5", 21.5), ("-3.25", -3.25), ("0.125", 0.125)],
)
def test_a_figure_is_read_and_written_with_its_own_marks(written: str, value: float) -> None:
    assert read_figure(written) == value
    assert write_figure(value, written) == written


@pytest.mark.parametrize("written", ["1,299.00,1.299", "12.50,21.5", "1.299,00.1", "1'000.5.2"])
def test_figures_that_a_row_joins_are_no_figure(written: str) -> None:
    assert read_figure(written) is None


def test_a_count_that_holds_a_list_is_no_figure_of_what_is_not_there() -> None:
    assert find_facts(result_target('{"count": [3, 4]}')) == []


def test_a_round_figure_stays_round() -> None:
    assert write_figure(512_345, "430,000") == "510,000"


@pytest.mark.parametrize(
    "value,before,beside",
    [
        ("delivered", "shipped", ["shipped", "returned"]),
        ("SHIPPED", "PENDING", ["PENDING", "DELIVERED"]),
        ("Paid", "Authorised", ["Authorised", "Refunded"]),
        ("locked", "unlocked", ["unlocked"]),
        ("economy", None, ["basic_economy", "premium_economy"]),
        ("dhl", None, ["UPS", "FedEx"]),
        ("kettle", None, []),
        ("", None, []),
    ],
)
def test_words_have_others_before_and_beside_them(value: str, before: str | None, beside: list[str]) -> None:
    assert find_earlier_word(value) == before
    assert list(find_neighbours(value)) == beside


@settings(max_examples=300, deadline=None)
@given(text=PIECES.map("".join), arguments=PIECES.map("".join))
def test_a_value_is_asked_for_where_it_stands_as_a_whole_word(text: str, arguments: str) -> None:
    target = replace(result_target(), arguments=arguments)
    expected = bool(text) and re.search(rf"(?<!\w){re.escape(text)}(?!\w)", arguments) is not None
    assert is_asked_for(text, target) is expected


def test_each_word_has_its_neighbours_in_the_first_list_that_has_it() -> None:
    lists = [[word.lower() for word in words] for words in VOCABULARIES]
    for word in {word for words in lists for word in words}:
        first = next(words for words in lists if word in words)
        at = first.index(word)
        assert [one.lower() for one in find_neighbours(word)] == [
            *first[max(0, at - 1) : at],
            *first[at + 1 : at + 2],
        ]
