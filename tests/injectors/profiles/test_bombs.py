"""Profiles that would take all time or memory are refused, or their searches end."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosswind.injectors.profiles import expressions
from crosswind.injectors.profiles.expressions import find_spans, is_found
from crosswind.injectors.profiles.load import ProfileError, load, names, parse

RULE = "name: t\nrules:\n  - operator: Typo\n    severity: 1\n    where:\n      text: "


def multiplied(levels: int, *, merged: bool) -> str:
    """A profile whose last anchor stands for nine to the power of its levels."""
    lines = ["name: t", "lineage:", "  a0: &a0 {x: 1}" if merged else "  a0: &a0 [x]"]
    for level in range(1, levels + 1):
        inside = ", ".join([f"*a{level - 1}"] * 9)
        lines.append(f"  a{level}: &a{level} " + (f"{{<<: [{inside}]}}" if merged else f"[{inside}]"))
    return "\n".join(lines)


@pytest.mark.parametrize("merged", [False, True])
def test_aliases_count_as_often_as_they_are_named(merged: bool) -> None:
    for levels in (7, 9):
        with pytest.raises(ProfileError, match="more than 20000 values"):
            parse(multiplied(levels, merged=merged), "bomb")
    assert parse(multiplied(3, merged=merged), "small").name == "t"


def test_a_document_of_too_many_values_is_refused_while_it_is_read() -> None:
    with pytest.raises(ProfileError, match=r"^big:3: .*more than 20000 values"):
        parse(f"name: t\nlineage:\n  a: [{'1,' * 30_000}1]\n  b: [", "big")


@pytest.mark.parametrize(
    "pattern", ["(a{65535}){65535}", "(?:" * 90 + "a" + "{1,9})" * 90, "((a{99}){99}){99}", "a" * 5000]
)
def test_an_expression_that_is_large_when_written_out_is_refused(pattern: str) -> None:
    with pytest.raises(ProfileError, match=r"t:6: .*too large a regular expression"):
        parse(f"{RULE}'{pattern}'\n", "t")


def test_a_search_without_end_ends_and_is_given_up_after_three(monkeypatch: pytest.MonkeyPatch) -> None:
    limit, told = expressions.SearchLimit(), list[tuple[str, int]]()
    limit.tell = lambda pattern, times: told.append((pattern, times))
    monkeypatch.setattr(expressions, "LIMIT", limit)
    pattern = "(?:a|aa)+$"
    parse(f"{RULE}'{pattern}'\n", "t")
    endless = "a" * 200 + "b"
    assert [is_found(pattern, endless) for _ in range(5)] == [False] * 5
    assert told == [(pattern, 1), (pattern, 2), (pattern, 3)]
    assert not is_found(pattern, "aa"), "it was given up"
    assert find_spans("(?:a|aa)+?c", endless, 64) == []
    assert is_found("a+b", endless)


def test_the_built_in_expressions_find_what_pythons_find() -> None:
    rules = [rule for name in names() for rule in load(name).rules]
    patterns = {rule.where.text for rule in rules} - {""}
    assert patterns
    texts = [
        "You are in a room. You see a cabinet 1.",
        "{}",
        "[SEP] Back to Search",
        "go to (3, 4)",
        "",
        "é ß",
    ]
    for pattern in patterns:
        assert [is_found(pattern, one) for one in texts] == [bool(re.search(pattern, one)) for one in texts]


@settings(deadline=None)
@given(st.text("ab12 :\n.é", max_size=40))
def test_spans_are_those_of_pythons_expressions(text: str) -> None:
    for pattern in (r"a(.*?)(?=\n|\Z)", r"\b\w+\b", r"(?i)[^\n:]{1,3}\d?", r"(?m)^(\s*)\S"):
        group = 1 if re.compile(pattern).groups else 0
        spans = [match.span(group) for match in re.finditer(pattern, text)]
        assert find_spans(pattern, text, 64) == [(start, end) for start, end in spans if end > start]
