"""Errors in place of a result: the benchmark's six strings, and failures of the tool itself."""

from __future__ import annotations

from collections import Counter

import pytest

from crosswind.injectors import registry
from crosswind.injectors.operators.tool.errors import FAILURES
from crosswind.injectors.profiles.load import load
from tests.injectors.operators.tool.acting import BAGGAGE_TEXT, PASSAGE, outcomes, repeated, rule

TRANSITION = {
    "Timeout": (
        "tool.timeout",
        "transient_timeout",
        "Tool execution timed out after the configured request timeout. "
        "The remote endpoint did not respond within the allotted time.",
    ),
    "RateLim": (
        "tool.rate_limit",
        "transient_rate_limit",
        "HTTP 429 Too Many Requests. "
        "The provider rejected the call because the per-minute rate limit has been exceeded.",
    ),
    "AuthErr": (
        "tool.auth_error",
        "transient_auth_error",
        "HTTP 401 Unauthorized. "
        "The provider rejected the call because the supplied credentials are invalid or expired.",
    ),
    "5xxErr": (
        "tool.server_error",
        "transient_server_error",
        "HTTP 500 Internal Server Error. The remote endpoint failed to handle the request.",
    ),
    "Malform": (
        "tool.malformed_response",
        "transient_malformed_response",
        "Malformed response from tool execution: the body could not be parsed as JSON.",
    ),
    "SchemaD": (
        "tool.schema_drift",
        "transient_schema_drift",
        "Schema validation failed: "
        "the response did not match the tool’s declared output schema (extra/missing fields).",
    ),
}
"""RobustBench-TC, tables 4 and appendix G: display name to our name, code name and string."""


@pytest.mark.parametrize("display", TRANSITION)
def test_the_benchmarks_string_stands_in_place_of_the_first_result_only(display: str) -> None:
    name, code, text = TRANSITION[display]
    assert registry.resolve(display).name == registry.resolve(code).name == name
    for clean in (BAGGAGE_TEXT, PASSAGE):
        assert repeated(f"robustbench-tc/{display}", clean) == [text, clean, clean]


@pytest.mark.parametrize("display", TRANSITION)
def test_the_benchmarks_profile_has_its_setting(display: str) -> None:
    (only,) = load(f"robustbench-tc/{display}").rules
    assert (only.operator, only.severity, only.when.first_call) == (TRANSITION[display][0], 1.0, True)


def test_a_failed_execution_says_nothing_of_the_truth_and_a_retry_says_it_all() -> None:
    assert registry.resolve("failure").name == "tool.execution_failure"
    found = outcomes("failure", seeds=700)
    assert set(found) == set(FAILURES.values())
    assert all(60 < count < 145 for count in Counter(found).values())
    assert all(value not in text for text in found for value in ("KX93TL", "economy", "OSL"))
    first, second, third = repeated(rule("failure"))
    assert first in FAILURES.values()
    assert second == third == BAGGAGE_TEXT


def test_severity_is_the_probability_of_a_failure() -> None:
    assert 180 < len(outcomes("tool.execution_failure", severity=0.7, seeds=300)) < 240
