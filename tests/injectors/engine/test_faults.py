"""Faults of links and of the model's answers: what is decided, and the bounds of what destroys an answer."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from itertools import groupby
from statistics import mean, median
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosswind.injectors import registry
from crosswind.injectors.conversation import Site
from crosswind.injectors.engine.faults import (
    FaultMemory,
    LinkDecision,
    LinkRules,
    decide_faults,
)
from crosswind.injectors.engine.plan import Plan
from crosswind.injectors.faults import Delay, Resend, fault_from
from crosswind.injectors.guard.bounds import Bounds
from tests.injectors.plans import plan_of, plan_with

ON_MODELS = [entry.name for entry in registry.operators().values() if entry.site is Site.MODEL_RESPONSE]
ON_LINKS = [entry.name for entry in registry.operators().values() if entry.site is Site.TRANSPORT]


def decide(plan: Plan, turn: int, attempt: int = 0, **more: Any) -> list[LinkDecision]:
    return decide_faults(plan, **{"turn": turn, "attempt": attempt, "streaming": True} | more)


def acting(decided: list[LinkDecision]) -> list[str]:
    return [one.decision.operator for one in decided if one.fault is not None]


DESTROYING = pytest.mark.parametrize("operator", ["model.overloaded", "transport.status"])


def latency(severity: float = 0.5, when: str = "{}") -> Plan:
    return plan_with("transport.latency", severity=severity, when=when)


def delay(plan: Plan, turn: int, attempt: int = 0, **more: Any) -> float | None:
    decided = decide(plan, turn, attempt, **more)
    return decided[0].fault.delay_ms if decided else None  # type: ignore[union-attr]


def test_each_exchange_attempt_and_link_has_a_draw_of_its_own() -> None:
    plan = latency()
    assert delay(plan, 3) == delay(plan, 3)
    assert len({delay(plan, 3), delay(plan, 4), delay(plan, 3, attempt=1), delay(plan, 3, link="tool")}) == 4


@pytest.mark.parametrize("severity", [0.1, 0.5, 1.0])
def test_the_mean_delay_is_the_severity_in_seconds_with_a_long_tail(severity: float) -> None:
    delays = [delay(latency(severity), turn) or 0.0 for turn in range(3000)]
    assert mean(delays) == pytest.approx(1000 * severity, rel=0.06)
    assert min(delays) >= 500 * severity
    assert median(delays) < mean(delays)
    assert max(delays) > 4000 * severity


def test_schedules_with_a_memory_are_replayed_from_the_first_turn() -> None:
    assert [turn for turn in range(8) if delay(latency(when="{at_most: 2, min_interval: 3}"), turn)] == [0, 3]


def test_a_decision_has_all_that_the_record_wants() -> None:
    [(decision, fault, note)] = decide(latency(), 2, attempt=1)
    assert (decision.site, decision.anchor, decision.logical_call) == ("transport", "model:2#1", None)
    assert fault == Delay("response", decision.draw["delay_ms"])
    assert note.endswith("Solvable: no content is changed.")


@pytest.mark.parametrize("name", [*ON_MODELS, *ON_LINKS])
@pytest.mark.parametrize("streaming", [True, False])
def test_a_fault_is_the_same_when_its_settings_are_read_back(name: str, streaming: bool) -> None:
    for seed in range(20):
        plan = plan_with(name, seed=seed)
        for decision, fault, note in decide(plan, 0, streaming=streaming):
            assert fault is not None
            stored = json.dumps(fault.settings())
            read = fault_from(json.loads(stored))
            assert read == fault and json.dumps(read.settings()) == stored
            assert re.search(r"Solvable: the same request .* when sent again", note) or not decision.fault


@pytest.mark.parametrize("name", ON_LINKS)
@pytest.mark.parametrize("streaming", [True, False])
def test_a_link_to_tools_is_only_broken_before_anything_takes_effect(name: str, streaming: bool) -> None:
    for seed in range(20):
        for _, fault, _ in decide(plan_with(name, seed=seed), 0, link="mcp", streaming=streaming):
            assert fault is not None and Resend() not in fault.before_request()
            assert fault.where == "request" or not registry.resolve(name).fault


@DESTROYING
def test_an_attempt_gets_through_once_the_bound_is_reached(operator: str) -> None:
    plan = plan_with(operator, more="bounds: {faults_per_call: 2}")
    assert [len(decide(plan, 0, attempt)) for attempt in range(4)] == [1, 1, 0, 0]
    assert decide(replace(plan, bounds=Bounds(faults_per_call=0)), 0) == []


@DESTROYING
def test_no_more_turns_in_a_row_are_destroyed_than_the_bound_allows(operator: str) -> None:
    found = [len(decide(plan_with(operator, more="bounds: {faults_per_call: 2}"), turn)) for turn in range(9)]
    assert found == [1, 1, 0, 1, 1, 0, 1, 1, 0]
    assert decide(plan_with(operator, more="bounds: {faults_per_session: 3}"), 0, spent=3) == []


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    severity=st.sampled_from([0.2, 0.3, 0.6, 1.0]),
    bound=st.integers(1, 3),
    operators=st.lists(st.sampled_from([*ON_MODELS, *ON_LINKS]), min_size=1, max_size=6, unique=True),
)
def test_links_and_providers_together_destroy_no_longer_runs_than_the_bound(
    seed: int, severity: float, bound: int, operators: list[str]
) -> None:
    plan = plan_with(*operators, severity=severity, seed=seed, more=f"bounds: {{faults_per_call: {bound}}}")
    memory: FaultMemory = {}

    def destroyed(turn: int) -> bool:
        destroying = [one.decision.site for one in decide(plan, turn, memory=memory) if one.decision.fault]
        assert len(destroying) == len(set(destroying))
        return bool(destroying)

    hits = [destroyed(turn) for turn in range(30)]
    runs = [len(list(run)) for hit, run in groupby(hits) if hit]
    assert max(runs, default=0) <= bound
    assert [destroyed(turn) for turn in reversed(range(30))] == hits[::-1]


def test_the_first_rule_that_acts_goes_before_the_others() -> None:
    plan = plan_with("model.empty", "model.overloaded", "model.rate_limited", severity=0.5)
    found = Counter(name for turn in range(400) for name in acting(decide(plan, turn)))
    assert found["model.empty"] > found["model.overloaded"] > found["model.rate_limited"] > 0


def test_what_destroys_nothing_comes_along() -> None:
    latency, reset, status, delay = (
        f"transport.{name}" for name in ("latency", "reset", "status", "first_token_delay")
    )
    assert acting(decide(plan_with(latency, reset, status, delay), 0)) == [latency, reset, delay]


def test_rules_act_on_their_own_link_only() -> None:
    assert decide(plan_with("tool.timeout"), 0) == [] == decide(plan_with(*ON_MODELS), 0, of_provider=False)
    assert decide(plan_with(*ON_MODELS), 0, link="mcp") == []


MIXED = """
name: t
bounds: {faults_per_call: 2}
rules:
  - {operator: transport.latency, severity: 0.4, when: {at_most: 3, probability: 0.5}}
  - {operator: transport.status, severity: 0.9, when: {min_interval: 2}}
  - {operator: transport.sse_cut, severity: 0.8}
  - {operator: transport.reset, severity: 1, when: {burst: {enter: 0.3, leave: 0.3}}}
  - {operator: model.rate_limited, severity: 1, when: {probability: 0.8}}
  - {operator: model.length_cut, severity: 0.6, when: {at_most: 2, min_interval: 3}}
"""


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 500),
    asked=st.lists(
        st.tuples(st.integers(0, 100), st.integers(0, 2), st.booleans(), st.sampled_from(["model", "tools"])),
        max_size=20,
    ),
)
def test_memory_changes_no_decision_in_whatever_order_turns_are_asked_for(
    seed: int, asked: list[tuple[int, int, bool, str]]
) -> None:
    plan, memory = plan_of(MIXED, seed), FaultMemory()
    for turn, attempt, streaming, link in asked:
        at: Any = {"turn": turn, "attempt": attempt, "streaming": streaming, "link": link}
        assert decide(plan, memory=memory, **at) == decide(plan, **at)


def test_with_memory_a_turn_plays_no_earlier_turn_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted, not timed: the work for one more turn doesn't grow with the turns before it."""
    plan, memory = plan_of(MIXED, 1), FaultMemory()
    for turn in range(300):
        decide(plan, turn, memory=memory, of_provider=False)
    applied: list[int] = []
    apply = LinkRules._apply
    monkeypatch.setattr(LinkRules, "_apply", lambda *given: applied.append(given[2]) or apply(*given))
    for turn in range(300, 310):
        decide(plan, turn, memory=memory, of_provider=False)
    assert applied and min(applied) > 290
