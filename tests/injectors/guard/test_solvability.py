"""What the guard lets through, and what a destroyed result is."""

from __future__ import annotations

import dataclasses
import json

import pytest
from hypothesis import given, settings

from crosswind.injectors import registry
from crosswind.injectors.cli.examples import TOOL_RESULT, sample
from crosswind.injectors.conversation import Site
from crosswind.injectors.guard import solvability
from crosswind.injectors.targets import Recovery, ToolResultTarget
from crosswind.injectors.text.json_payload import contradicts_itself, holds_all, looks_destroyed, parse_json
from tests.injectors.dialogues import json_values

TARGET = sample(Site.TOOL_RESULT)
assert isinstance(TARGET, ToolResultTarget)
CLEAN = '{"id": 1, "items": [{"a": 1}, {"a": 2}], "note": "ok"}'


@pytest.mark.parametrize(
    "after,fault",
    [
        (CLEAN, False),
        ('{"id": 1, "items": [{"a": 1}', True),
        ('{"id": 1, "items": []}', False),
        ('{"id": 1, "incomplete": true}', True),
        ('[{"truncated": true}]', True),
        ("Tool execution timed out.", True),
        ("HTTP 503", True),
        ("Malformed response from tool execution.", True),
        ('{"id": 2, "stale": true}', True),
        ('{"id": 2, "uncertain": true}', True),
        ("", True),
    ],
)
def test_a_destroyed_result_can_be_told_from_a_valid_one(after: str, fault: bool) -> None:
    assert looks_destroyed(after, CLEAN) is fault


def test_a_marker_that_the_clean_result_has_too_tells_nothing() -> None:
    assert not looks_destroyed('{"error": "x"}', '{"error": "x", "id": 3}')
    assert not looks_destroyed("the upload failed", "the upload failed twice")


@pytest.mark.parametrize(
    "after,detectable",
    [
        ('{"id": 2, "id_on_file": 1, "items": [{"a": 1}, {"a": 2}], "note": "ok"}', True),
        ('{"id": 1, "items": [{"a": 5, "a_confirmed": 1}, {"a": 2}], "note": "ok"}', True),
        ('{"id": 2, "items": [{"a": 1}, {"a": 2}], "note": "ok"}', False),
        ('{"id": 2, "id_on_file": 2, "items": [{"a": 1}, {"a": 2}], "note": "ok"}', False),
        ('{"id": 2, "id_on_file": 1, "items": [{"a": 3}, {"a": 2}], "note": "ok"}', False),
        ('{"id": 2, "id_on_file": 1, "items": [{"a": 1}, {"a": 2}]}', False),
        ('{"id": 2, "id_on_file": 1, "items": [{"a": 1}], "note": "ok"}', False),
        ('{"id": 1, "id_on_file": 3, "items": [{"a": 1}, {"a": 2}], "note": "ok"}', False),
        (CLEAN, False),
        ("id: 2", False),
    ],
)
def test_a_false_value_is_detectable_where_a_field_beside_it_disagrees(after: str, detectable: bool) -> None:
    assert contradicts_itself(after, CLEAN) is detectable
    refused = solvability.check_tool_result(registry.resolve("tool.timeout"), TARGET, after, clean=CLEAN)
    assert (refused is None) is detectable or not after.startswith("{")


def test_a_restating_field_that_the_clean_result_has_too_disputes_nothing() -> None:
    assert not contradicts_itself('{"id": 2, "id_on_file": 1}', '{"id": 1, "id_on_file": 1}')


@pytest.mark.parametrize(
    "after,kept",
    [
        (CLEAN, True),
        ('{"id": 1, "tip": "x", "items": [{"a": 1, "b": 0}, {"a": 2}], "note": "ok"}', True),
        ('{"id": 1, "items": [{"a": 0}, {"a": 1}, {"a": 2}], "note": "ok"}', True),
        ('{"id": 1, "items": [{"a": 2}, {"a": 1}], "note": "ok"}', False),
        ('{"id": "1", "items": [{"a": 1}, {"a": 2}], "note": "ok"}', False),
        ('{"id": true, "items": [{"a": 1}, {"a": 2}], "note": "ok"}', False),
        ('{"id": 1, "items": [{"a": 1}, {"a": 2}]}', False),
        ("[]", False),
    ],
)
def test_a_clean_value_is_there_only_in_its_place(after: str, kept: bool) -> None:
    assert holds_all(parse_json(after), parse_json(CLEAN)) is kept


@settings(max_examples=60, deadline=None)
@given(value=json_values)
def test_every_payload_contains_itself(value: object) -> None:
    text = json.dumps(value)
    assert holds_all(parse_json(text), parse_json(text))


@pytest.mark.parametrize(
    "name,after,reason",
    [
        ("tool.misleading", TOOL_RESULT.replace("delivered", "pending"), "a value of the true result"),
        ("tool.misleading", "not JSON", "a value of the true result"),
        ("tool.timeout", "[]", "could be taken for a valid one"),
        ("tool.timeout", TOOL_RESULT.replace("delivered", "pending"), "could be taken for a valid one"),
    ],
)
def test_what_breaks_an_operators_promise_is_refused(name: str, after: str, reason: str) -> None:
    refused = solvability.check_tool_result(registry.resolve(name), TARGET, after, clean=TARGET.text)
    assert refused is not None and reason in refused


@pytest.mark.parametrize("recovery", list(Recovery))
def test_who_says_of_no_fault_keeps_every_value_whatever_recovery_is_declared(recovery: Recovery) -> None:
    """Nothing counts how often such an operator acts on one call: without this it could act for ever."""
    entry = dataclasses.replace(registry.resolve("tool.misleading"), recovery=recovery)
    target = dataclasses.replace(TARGET, tools=(*TARGET.tools, *TARGET.tools))
    lost = solvability.check_tool_result(entry, target, '{"error": "gone"}', clean=target.text)
    assert lost == "a value of the true result would have been lost"


@pytest.mark.parametrize("recovery", [Recovery.IGNORE, Recovery.NONE_NEEDED, Recovery.ASK_USER])
def test_a_fault_that_no_call_mends_is_refused(recovery: Recovery) -> None:
    entry = dataclasses.replace(registry.resolve("tool.timeout"), recovery=recovery)
    refused = solvability.check_tool_result(entry, TARGET, "Tool execution timed out.", clean=TARGET.text)
    assert refused is not None and recovery.value in refused
