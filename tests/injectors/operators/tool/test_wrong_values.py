"""False values that are plausible."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosswind.injectors.operators.tool.values import draw_other, find_earlier, find_neighbours
from crosswind.injectors.streams import Stream

SCALARS = st.one_of(
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.floats(),
    st.text(max_size=12),
    st.sampled_from(["DELIVERED", "Shipped", "economy", "OSL", "VIE", "fedex", "Paris"]),
)


@settings(max_examples=200, deadline=None)
@given(value=SCALARS, peers=st.lists(SCALARS, max_size=4), seed=st.integers(0, 10**6))
def test_a_false_value_is_another_one_of_the_same_type(value: Any, peers: list[Any], seed: int) -> None:
    found = draw_other(value, peers, Stream(str(seed)))
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
