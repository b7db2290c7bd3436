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
from crosswind.injectors.guard.tool_classes import permit
from crosswind.injectors.targets import Effect, Recovery, ToolClass, ToolResultTarget
from crosswind.injectors.text.json_payload import holds_all, looks_destroyed, parse_json
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
    "after,reason",
    [
        (TOOL_RESULT.replace("delivered", "pending"), None),
        (TOOL_RESULT.replace("W2378156", "W2378157"), "W2378156"),
        (TOOL_RESULT[:-2], "would have been none"),
        ("", "nothing of the result"),
    ],
)
def test_false_values_may_stand_in_a_result_that_keeps_its_ids_and_its_form(
    after: str, reason: str | None
) -> None:
    refused = solvability.check_tool_result(
        registry.resolve("tool.erroneous"), TARGET, after, clean=TARGET.text
    )
    assert refused is None if reason is None else refused is not None and reason in refused


def test_false_values_in_what_an_unknown_tool_gave_need_an_earlier_read() -> None:
    allowed = permit(Effect.FALSIFIES, ToolClass.UNKNOWN, "declared")
    assert allowed.allowed and allowed.if_read_elsewhere
    assert not permit(Effect.FALSIFIES, ToolClass.DESTRUCTIVE, "declared").allowed
    after = TOOL_RESULT.replace("delivered", "pending")
    assert solvability.check_read_elsewhere(TARGET, after, []) is not None
    assert solvability.check_read_elsewhere(TARGET, after, ['{"status": "delivered"}']) is None


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
