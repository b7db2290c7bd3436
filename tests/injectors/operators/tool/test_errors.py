"""Messages in place of a result: failures of the tool, and empty successes."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import pytest

from crosswind.injectors.conversation import ToolSchema
from crosswind.injectors.operators.tool.errors import ACKNOWLEDGEMENTS, FAILURES
from crosswind.injectors.targets import ToolClass
from tests.injectors.operators.acting import acts, outcomes, result_target


def test_a_failed_execution_is_any_of_the_failures_and_says_nothing_of_the_truth() -> None:
    found = Counter(outcomes("tool.execution_failure", seeds=700))
    assert set(found) == set(FAILURES.values())
    assert all(60 < count < 145 for count in found.values())
    assert all(value not in text for text in found for value in ("KX93TL", "economy", "OSL"))


@pytest.mark.parametrize("name", ["tool.execution_failure", "tool.silent_noop", "tool.prerequisite"])
def test_severity_is_the_probability(name: str) -> None:
    assert 180 < len(outcomes(name, severity=0.7, seeds=300)) < 240


def test_a_silent_noop_gives_success_and_nothing_and_leaves_writes_alone() -> None:
    assert set(outcomes("tool.silent_noop")) == set(ACKNOWLEDGEMENTS)
    write = replace(result_target(), tool_class=ToolClass.IDEMPOTENT)
    assert not any(acts("tool.silent_noop", write, seeds=20))
    assert outcomes("tool.silent_noop", "plain words here") == []


def test_a_prerequisite_is_a_declared_tool_that_only_reads_or_the_sessions_own() -> None:
    names = ("get_reservation", "cancel_reservation", "list_flights", "search_routes", "get_or_create_case")
    target = replace(result_target(), tools=tuple(ToolSchema(name, "", {}) for name in names))
    texts = [one[1] for one in acts("tool.prerequisite", target, seeds=60) if one]
    assert len(texts) == 60
    named = {name for text in texts for name in re.findall("a call of (.*) to have", text)}
    assert named == {"list_flights", "search_routes"}
    assert all("the set-up of the session" in text for text in outcomes("tool.prerequisite"))
