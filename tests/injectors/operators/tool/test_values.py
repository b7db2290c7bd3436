"""False values that are plausible, and what the call's own arguments hold."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosswind.injectors.operators.tool.values import draw_other, find_earlier, find_neighbours
from crosswind.injectors.operators.words.vocabularies import VOCABULARIES
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.text.json_leaves import is_asked_for
from tests.injectors.operators.acting import result_target

SCALARS = st.one_of(
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.floats(),
    st.text(max_size=12),
    st.sampled_from(["DELIVERED", "Shipped", "economy", "OSL", "VIE", "fedex", "Paris"]),
)

PIECES = st.lists(st.sampled_from([*'ab_1 .-"', "½", "²", "é", "\u0301", "ab", "aa", "\n"]), max_size=14)


@settings(max_examples=200, deadline=None)
@given(value=SCALARS, peers=st.lists(SCALARS, max_size=4), seed=st.integers(0, 10**6))
def test_a_false_value_is_another_one_of_the_same_type(value: Any, peers: list[Any], seed: int) -> None:
    found = draw_other(value, peers, SeededRandom(str(seed)))
    if found is None:
        assert isinstance(value, str | float)
        return
    assert type(found) is type(value) and found != value
    assert isinstance(value, str) or math.isfinite(found)
    assert isinstance(value, str | bool) or found >= 0 or value < 0


@pytest.mark.parametrize(
    "value,before,beside",
    [
        ("delivered", "in transit", ["in transit", "returned"]),
        ("SHIPPED", "PROCESSED", ["PROCESSED", "IN TRANSIT"]),
        ("Paid", "Authorised", ["Authorised", "Refunded"]),
        ("draft", None, ["pending"]),
        ("economy", None, ["basic_economy", "premium_economy"]),
        ("dhl", None, ["UPS", "FedEx"]),
        ("kettle", None, []),
        ("", None, []),
    ],
)
def test_words_have_others_before_and_beside_them(value: str, before: str | None, beside: list[str]) -> None:
    assert find_earlier(value) == before
    assert find_neighbours(value) == beside


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
