"""Arguments have the same canonical form however they are read: stored keys of calls depend on it."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosswind.injectors.identity import canonical_arguments

CHARACTERS = 'ab"\\/\n\t\x00\x1f\x7f\u2028\ue000\uffff\U0001f600\ud800é0-.eE19'
TEXTS = st.text(st.sampled_from(CHARACTERS), max_size=6)
NUMBERS = st.one_of(
    st.integers(), st.floats(), st.sampled_from([0, 1, 2**53, 2**64, 10**15, 1.0, -0.0, 1e16, 1e22])
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=8,
)


def by_the_standard_library(arguments: str) -> str:
    try:
        value = json.loads(arguments) if arguments.strip() else {}
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    except (ValueError, RecursionError):
        lines = arguments.replace("\r\n", "\n").replace("\r", "\n")
        return unicodedata.normalize("NFC", lines).strip()


@given(VALUES, st.booleans(), st.sampled_from([None, 1]), st.integers(0, 40), TEXTS)
def test_the_canonical_form_is_that_of_the_standard_library(
    value: Any, ascii_only: bool, indent: int | None, at: int, broken: str
) -> None:
    arguments = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    for one in (arguments, arguments[:at] + broken + arguments[at:], arguments[:at]):
        assert canonical_arguments(one) == by_the_standard_library(one)


ODD = r"""
{} -0 01 1e5 [1.0] {"a":1,"a":2} NaN {"b":-0,"a":1} 1234567890123456 [1]x {"é":"\u00e9"} "\ud800" [1,]
"""


@pytest.mark.parametrize("arguments", ["", " \u00a0", "\ufeff{}", '{"b": 1, "a": [ ]}', *ODD.split()])
def test_odd_arguments_too(arguments: str) -> None:
    assert canonical_arguments(arguments) == by_the_standard_library(arguments)
