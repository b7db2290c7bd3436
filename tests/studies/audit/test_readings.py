"""The audit's own readings: they find nothing where the guard is right, and they find what is lost."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from crosswind.injectors import registry
from crosswind.injectors.cli import examples
from crosswind.injectors.conversation import Site
from crosswind.injectors.guard import solvability
from crosswind.injectors.guard.tool_classes import classify, classify_by_first_word, find_declared
from crosswind.injectors.operator import Registered
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Effect, Recovery, ToolClass, ToolResultTarget, UserTarget
from crosswind.injectors.text import entities
from crosswind.injectors.text.entities import find_protected_spans
from crosswind.studies.audit import values, words
from crosswind.studies.audit.tools import CHANGES, changes_something, class_of
from tests.injectors.dialogues import json_values, payloads, texts

OPERATORS = sorted(registry.operators().values(), key=lambda entry: entry.name)


def of_site(site: Site) -> pytest.MarkDecorator:
    found = [entry for entry in OPERATORS if entry.site is site]
    return pytest.mark.parametrize("entry", found, ids=lambda entry: entry.name)


@of_site(Site.USER_TEXT)
@settings(max_examples=60, deadline=None)
@given(
    text=st.one_of(texts, st.builds("{} {}".format, st.just(examples.USER_TEXT), texts)),
    seed=st.integers(0, 10**6),
    severity=st.floats(0.01, 1.0),
)
def test_what_the_guard_lets_a_user_say_has_all_facts(
    entry: Registered, text: str, seed: int, severity: float
) -> None:
    target = UserTarget(text, 0, find_protected_spans(text))
    draw = entry.implementation.draw(target, SeededRandom(f"{seed}"), severity)
    if draw is None:
        return
    after = str(entry.implementation.apply(target, draw).payload)
    if solvability.check_user_text(entry, target, after) is not None:
        return
    withheld = str(draw.get("withheld", "")) if entry.recovery is Recovery.ASK_USER else ""
    assert [one for one in words.find_missing(text, after) if one not in withheld] == []
    assert words.find_made_up(text, after) == []


SPEAKING_OF_FAULTS = st.lists(
    st.sampled_from(
        [
            *("error", "Error", "errors", "HTTP 404", "http 4", "failed", "timed out", "[truncated]"),
            *("unavailable", "malformed response", "[uncertain reading]", "HTTP 500 Internal"),
            *("lamp", "W17", "3.5", "a b c d"),
        ]
    ),
    min_size=1,
    max_size=8,
).map(" ".join)
"""True results that speak of faults: of a log, say."""


@of_site(Site.TOOL_RESULT)
@settings(max_examples=90, deadline=None)
@given(text=payloads | SPEAKING_OF_FAULTS, seed=st.integers(0, 10**6), severity=st.floats(0.01, 1.0))
def test_what_the_guard_lets_a_tool_say_is_true_or_shows_that_it_is_not(
    entry: Registered, text: str, seed: int, severity: float
) -> None:
    sample = examples.sample(Site.TOOL_RESULT)
    assert isinstance(sample, ToolResultTarget)
    target = ToolResultTarget(text, 0, sample.tool, sample.arguments, sample.tool_class, 0, sample.tools)
    draw = entry.implementation.draw(target, SeededRandom(f"{seed}"), severity)
    if draw is None:
        return
    after = str(entry.implementation.apply(target, draw).payload)
    if solvability.check_tool_result(entry, target, after, clean=text) is not None:
        return
    lies = entry.effect is Effect.FALSIFIES
    assert lies or values.keeps(text, after) or values.shows_that_it_is_wrong(text, after)


@settings(max_examples=300, deadline=None)
@given(
    tool=st.one_of(
        st.text(alphabet="getGETOrdercheck_.-:/ 3", max_size=20),
        st.from_regex(r"(get|check|find|read)(_?[A-Za-z]+){0,3}", fullmatch=True),
        st.lists(
            st.sampled_from(
                [*sorted(CHANGES), "get", "list", "and", "or", "order", "user", "status", "read"]
            ),
            min_size=1,
            max_size=4,
        ).map("_".join),
    )
)
def test_tools_are_of_the_class_that_the_guard_takes_them_for(tool: str) -> None:
    table = {"read_me": "destructive", "get_x*": "idempotent"}
    old = find_declared(tool, table) or classify_by_first_word(tool)
    assert class_of(tool, table) == old.value
    if changes_something(tool):
        assert classify(tool) is not ToolClass.READ_ONLY


@settings(max_examples=200, deadline=None)
@given(value=json_values, data=st.data())
def test_a_value_that_is_gone_or_changed_is_seen(value: Any, data: st.DataObject) -> None:
    record = {"result": value, "id": 7, "name": "kettle"}
    clean = json.dumps(record)
    assert values.keeps(clean, json.dumps({**record, "more": 1}))
    key = data.draw(st.sampled_from(["id", "name"]))
    assert not values.keeps(clean, json.dumps({name: one for name, one in record.items() if name != key}))
    changed = json.dumps({**record, key: "another"})
    assert not values.keeps(clean, changed)
    assert not values.shows_that_it_is_wrong(clean, changed)
    assert values.shows_that_it_is_wrong(clean, changed[:-1])
    assert values.shows_that_it_is_wrong(clean, json.dumps({**record, key: "another", "stale": True}))


@settings(max_examples=200, deadline=None)
@given(text=texts, data=st.data())
def test_a_figure_that_is_gone_or_made_up_is_seen(text: str, data: st.DataObject) -> None:
    before = f"Order #W2378156 please, not the blue one. {text}"
    assert words.find_missing(before, f"Hello! {before} Thanks.") == []
    lost = data.draw(st.sampled_from(["#W2378156", "not "]))
    assume(text.count(lost.strip()) == 0)
    assert words.find_missing(before, before.replace(lost, ""))
    assert words.find_made_up(before, f"{before} It is W99.") == ["W99"] or "W99" in entities.find_numbers(
        before
    )


def test_a_text_that_goes_on_still_says_what_it_said() -> None:
    said = {"author": "Ann", "comment": "The room was quiet and the staff were kind."}
    for comment in (said["comment"], "房间很安静，工作人员也很友好。早餐不错。"):
        clean = json.dumps({**said, "comment": comment})
        assert values.keeps(clean, json.dumps({**said, "comment": f"{comment}\nWrite to me."}))
        assert not values.keeps(clean, json.dumps({**said, "comment": f"Write to me. {comment}"}))
        assert not values.keeps(clean, json.dumps({**said, "comment": comment[:-8]}))
    assert not values.keeps(json.dumps(said), json.dumps({**said, "author": "Ann Berg"}))
