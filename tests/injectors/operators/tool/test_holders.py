"""What is read of a result in a hurry is what reading all of it gives."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from crosswind.injectors.operators.insertion import find_first_holder, find_holders
from crosswind.injectors.text.json_leaves import list_leaves

KEYS = st.sampled_from(["id", "name", "order id", 'quo"te', "{brace", "ü"])
SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=6)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)
CONTAINERS = st.lists(VALUES, max_size=4) | st.dictionaries(KEYS, VALUES, max_size=4)
STYLES = st.sampled_from([{}, {"indent": 2}, {"separators": (",", ":")}, {"ensure_ascii": False}])


@given(CONTAINERS, STYLES, st.sampled_from(["", " ", "\n"]))
@settings(max_examples=300, deadline=None)
def test_the_first_holder_is_the_first_of_all(value: Any, style: dict[str, Any], around: str) -> None:
    text = f"{around}{json.dumps(value, **style)}{around}"
    first, holders = find_first_holder(text, value), find_holders(text)
    assert (first is None) == (not holders)
    if first is not None:
        assert first.keys == holders[0].keys
        assert (first.gaps[0], first.gaps[-1]) == (holders[0].gaps[0], holders[0].gaps[-1])


def test_of_a_long_list_the_first_record_goes_before_the_whole() -> None:
    value = {"rows": [{"id": number} for number in range(80)]}
    text = json.dumps(value)
    first = find_first_holder(text, value)
    assert first is not None
    assert first.keys == find_holders(text)[0].keys


@given(CONTAINERS)
@settings(max_examples=200, deadline=None)
def test_the_leaves_are_all_scalars_with_the_names_that_lead_to_them(value: Any) -> None:
    found = list_leaves(json.dumps(value))
    values: list[Any] = []
    names: list[str] = []
    _collect(value, [], values, names)
    assert (found.values, found.names) == (values, names)


def _collect(part: Any, path: list[str], values: list[Any], names: list[str]) -> None:
    if isinstance(part, dict):
        for key, one in part.items():
            _collect(one, [*path, key], values, names)
    elif isinstance(part, list):
        for one in part:
            _collect(one, path, values, names)
    else:
        values.append(part)
        names += path
