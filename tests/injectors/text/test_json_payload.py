"""Payloads are read and compared as the standard library and the slow rule would, only faster."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosswind.injectors.text import json_payload as payload
from crosswind.injectors.text.json_payload import NOT_JSON, holds_all, parse_json

ODD = [
    "NaN",
    "-0",
    "1e400",
    "-Infinity",
    "1" * 40,
    "1.5e-320",
    '"\\ud800"',
    '{"a": 1, "a": 2.0}',
    "\ufeff1",
    "",
]
ODD += ["[1,]", "01", "1.", '"\t"', " [true] ", "[" * 3000, "\ud800", '{"\ud800": 1}', "9223372036854775808"]
ODD += [
    "Infinity",
    " NaN\n",
    "-Infinity",
    "I'd like",
    "tru",
    "nullx",
    "{} {}",
    '{"a": 1',
    "\x0b[1]",
    "[1]\x0b",
    '"',
    "-",
]

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)


def by_the_standard_library(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return NOT_JSON


@pytest.mark.parametrize("text", ODD)
def test_odd_texts_are_read_as_the_standard_library_reads_them(text: str) -> None:
    assert repr(parse_json(text)) == repr(by_the_standard_library(text))


@settings(max_examples=150, deadline=None)
@given(value=values, spaced=st.booleans(), cut=st.none() | st.integers(0, 40))
def test_texts_are_read_as_the_standard_library_reads_them(value: Any, spaced: bool, cut: int | None) -> None:
    text = json.dumps(value, indent=1 if spaced else None, ensure_ascii=spaced)[:cut]
    assert repr(parse_json(text)) == repr(by_the_standard_library(text))


@settings(max_examples=150, deadline=None)
@given(clean=st.dictionaries(st.text(max_size=3), values, max_size=4), noisy=values, more=values)
def test_what_is_compared_as_a_whole_is_contained_as_it_is_part_by_part(
    clean: dict[str, Any], noisy: Any, more: Any
) -> None:
    for other in (noisy, clean, {**clean, "more": more}, dict.fromkeys(clean, more), json_again(clean)):
        assert holds_all(other, clean) is payload._contains(other, clean)


@pytest.mark.parametrize("clean,noisy", [(1, True), (1, 1.0), (0.0, -0.0), (None, float("nan")), ("1", 1)])
def test_numbers_that_only_python_calls_equal_are_not(clean: Any, noisy: Any) -> None:
    assert not holds_all({"a": [clean]}, {"a": [noisy]})
    assert holds_all({"a": [clean], "b": 1}, {"a": [clean]})


def json_again(value: Any) -> Any:
    return json.loads(json.dumps(value))
