"""What holds of every operator that destroys results, and of every one that acts on them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosswind.injectors import registry
from crosswind.injectors.conversation import Site
from crosswind.injectors.engine.messages import perturb_messages
from crosswind.injectors.guard.tool_classes import classify
from crosswind.injectors.targets import ToolClass
from tests.injectors.dialogues import TOOLS, call, conversation, payloads
from tests.injectors.operators.acting import BAGGAGE, BAGGAGE_TEXT, PASSAGE, repeated, rule, seen
from tests.injectors.plans import plan_with

ON_RESULTS = sorted(name for name, entry in registry.operators().items() if entry.site is Site.TOOL_RESULT)
FAULTS = [name for name in ON_RESULTS if registry.resolve(name).fault]
NOT_ALONE = {"tool.prerequisite", "tool.silent_noop"}
"""They act beside other tools only, or not where the call has been carried out."""
LYING_ONCE = {"tool.erroneous", "tool.fabricated_observation", "tool.stale_resource"}
"""Two lies that agree would pass for the truth, so that a call meets one."""
READING_TEXT = json.dumps({**BAGGAGE, "weight_kg": 21.5})
ACTING_ON_ANY_TEXT = {name for name in FAULTS if repeated(rule(name), PASSAGE)[0] != PASSAGE}


@pytest.mark.parametrize("name", [name for name in FAULTS if name not in NOT_ALONE])
@pytest.mark.parametrize("per_call", [1, 2])
def test_a_repeated_call_returns_the_truth_after_its_faults_and_keeps_to_it(name: str, per_call: int) -> None:
    profile = f"bounds: {{faults_per_call: {per_call}}}\n{rule(name)}"
    looks = repeated(profile, READING_TEXT, calls=12)
    assert sum(look != READING_TEXT for look in looks) == (1 if name in LYING_ONCE else per_call)
    assert looks[-1] == READING_TEXT


def test_errors_in_place_of_a_result_stand_in_place_of_plain_text_too() -> None:
    errors = {f"tool.{kind}_error" for kind in ("auth", "server")} | {
        *("tool.timeout", "tool.rate_limit", "tool.malformed_response", "tool.schema_drift"),
        "tool.execution_failure",
    }
    assert errors | {"tool.incomplete", "tool.erroneous", "tool.numeric_noise"} <= ACTING_ON_ANY_TEXT


@pytest.mark.parametrize("name", FAULTS)
def test_what_a_write_answered_is_never_destroyed(name: str) -> None:
    assert classify("book_flight") is ToolClass.DESTRUCTIVE
    messages = [one for at in range(5) for one in call("book_flight", {"n": at}, BAGGAGE_TEXT, at)]
    assert seen(plan_with(name), messages, TOOLS) == [BAGGAGE_TEXT] * 5


@pytest.mark.parametrize("name", ON_RESULTS)
@settings(max_examples=12, deadline=None)
@given(texts=st.lists(payloads, min_size=1, max_size=4), seed=st.integers(0, 1000))
def test_nothing_that_a_tool_may_answer_makes_an_operator_fail(
    name: str, texts: list[str], seed: int
) -> None:
    messages = [one for at, text in enumerate(texts) for one in call("get_reservation", {"n": at}, text, at)]
    for new in perturb_messages(plan_with(name, seed=seed), conversation(messages, TOOLS), {}).new:
        assert not any("the operator failed" in injection.note for injection in new.injections)
