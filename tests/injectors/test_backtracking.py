"""Patterns whose search would never end are refused with the profile, and others are not."""

from __future__ import annotations

import pytest

from injectors.backtracking import explodes
from injectors.profile import ProfileError, parse

RULE = "rules:\n  - operator: tool.timeout\n    severity: 0.5\n"


@pytest.mark.parametrize(
    "pattern",
    [
        r"(a+)+$", r"(a*)*b", r"(?:a|a)*b", r"(?:a|ab|b)*c", r"(?:\w+\s?)*$", r"(\d+|[0-9a-f]+)*;",
        r"(a?b?)*c", r"order: (?:[^,]+,?)+;", r"(?i)(?:Ab|aB)+!", r"(?s)(?:.|\n)*x", r"(?=(a+)+$)b",
        r"(a+){9}$",
        r"(?:a{1,3})+b", r"(?:ab|a(?:b))+c", r"(x)(?(1)(a+)+$|b)", r"(?:(?:\w+)\W?)+\Z", r"(.*)*=",
        r"(?:a|[^b])+c",
        r"(['\"])(?:\\.|(?!\1).)*\1", r"(?:(?:\s*)?,)+;",
    ],
)  # fmt: skip
def test_a_loop_that_can_take_a_text_in_two_ways_is_seen(pattern: str) -> None:
    assert explodes(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        r"parcel|letter", r"(?s)(?:Prior|Current) observation: (.*?)(?=\n[A-Z]|\Z)", r"(?:\w+\s)*\w+$",
        r"(?:.|\n)*x", r"\b\d{4}-\d\d-\d\d\b", r"(?:\d{1,3}\.){3}\d{1,3}", r"(?:\w{2})+;",
        r"(?:[a-z]+,)*[a-z]+",
        r"(?:a|b)*abb", r"(?:a++,?)+;", r"(?:(?>a+))+b",
        r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", r"```(?:[^`]|`(?!``))*```", r".*.*=", r"", r"a{400}b*",
        "x" * 50_000 + ".*",
    ],
)  # fmt: skip
def test_others_are_let_through(pattern: str) -> None:
    assert not explodes(pattern)


@pytest.mark.parametrize("condition", ["text", "observation"])
def test_such_a_pattern_is_refused_with_its_line(condition: str) -> None:
    operator = RULE if condition == "text" else RULE.replace("tool.timeout", "state.irrelevant_state")
    with pytest.raises(ProfileError) as caught:
        parse(f"name: t\n{operator}    where:\n      {condition}: '(a+)+$'\n", "my.yaml")
    message = str(caught.value)
    assert message.startswith(f"my.yaml:6: rules[0].where.{condition}: '(a+)+$' is wrong: ")
    assert "in two ways" in message and "\n" not in message
