"""Noise on the model's answers, and the bounds of what destroys an answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import groupby
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosswind.injectors import registry
from crosswind.injectors.conversation import Site
from crosswind.injectors.engine.link import decide_transport
from crosswind.injectors.engine.model_link import decide_model
from crosswind.injectors.engine.plan import Plan, Seed, make_plan
from crosswind.injectors.engine.rule import Outcome
from crosswind.injectors.guard.bounds import Bounds
from crosswind.injectors.profiles.load import load, parse

ON_MODELS = [entry.name for entry in registry.operators().values() if entry.site is Site.MODEL_RESPONSE]
ON_LINKS = [entry.name for entry in registry.operators().values() if entry.site is Site.TRANSPORT]
ERRORS = {"rate_limited": 429, "overloaded": 503, "context_length": 400}
EDITS = {"length_cut", "malformed_arguments", "unknown_tool", "duplicated_call_id", "stream_cut"}


def plan_of(*operators: str, severity: float = 1.0, seed: int = 0, bounds: str = "{}") -> Plan:
    rules = "".join(f"  - {{operator: {name}, severity: {severity}}}\n" for name in operators)
    profile = parse(f"name: t\nbounds: {bounds}\nrules:\n{rules}", "t.yaml")
    return make_plan(profile, Seed(seed, "s"))


def on_model(plan: Plan, turn: int, attempt: int = 0, **more: Any) -> list[Outcome]:
    return decide_model(plan, turn=turn, attempt=attempt, streaming=True, **more)


def on_link(plan: Plan, turn: int, attempt: int = 0, **more: Any) -> list[Outcome]:
    return decide_transport(plan, link="model", turn=turn, attempt=attempt, streaming=True, **more)


DECIDERS = pytest.mark.parametrize(
    "decide,operator", [(on_model, "model.overloaded"), (on_link, "transport.status")]
)
Decider = Callable[..., list[Outcome]]


@pytest.mark.parametrize("name", ON_MODELS)
def test_the_settings_are_such_as_the_gateway_carries_out(name: str) -> None:
    [(decision, found, note)] = on_model(plan_of(name), 0)
    assert decision.site == "model_response"
    if found["where"] == "instead":
        kind = found.get("error") or found["answer"]
        assert kind in {*ERRORS, "empty", "content_filter"}
        assert found.get("status") == ERRORS.get(kind)
    else:
        assert (found["where"], found["edit"] in EDITS) == ("after", True)
        assert 0 <= found.get("pick", 0) < 1 and 0 < found.get("keep", 0.5) < 1
    assert "Solvable: the same request is answered when sent again" in note


@pytest.mark.parametrize("name", ON_LINKS)
@pytest.mark.parametrize("streaming", [True, False])
def test_a_link_to_tools_is_only_broken_before_anything_takes_effect(name: str, streaming: bool) -> None:
    for seed in range(20):
        plan = plan_of(name, seed=seed)
        for _, found, _ in decide_transport(plan, link="mcp", turn=0, attempt=0, streaming=streaming):
            late = found["where"] != "request" or found["kind"] == "duplicate"
            assert not (late and registry.resolve(name).fault)
            assert found["kind"] != "duplicate"


@DECIDERS
def test_an_attempt_gets_through_once_the_bound_is_reached(decide: Decider, operator: str) -> None:
    plan = plan_of(operator, bounds="{faults_per_call: 2}")
    assert [len(decide(plan, 0, attempt)) for attempt in range(4)] == [1, 1, 0, 0]
    assert decide(replace(plan, bounds=Bounds(faults_per_call=0)), 0) == []


@DECIDERS
def test_no_more_turns_in_a_row_are_destroyed_than_the_bound_allows(decide: Decider, operator: str) -> None:
    found = [len(decide(plan_of(operator, bounds="{faults_per_call: 2}"), turn)) for turn in range(9)]
    assert found == [1, 1, 0, 1, 1, 0, 1, 1, 0]
    assert decide(plan_of(operator, bounds="{faults_per_session: 3}"), 0, spent=3) == []


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    severity=st.sampled_from([0.2, 0.6, 0.9, 1.0]),
    bound=st.integers(1, 3),
    operators=st.lists(st.sampled_from(ON_MODELS), min_size=1, max_size=4, unique=True),
)
def test_runs_are_bounded_and_at_most_one_operator_destroys_an_answer(
    seed: int, severity: float, bound: int, operators: list[str]
) -> None:
    bounds = f"{{faults_per_call: {bound}}}"
    plan = plan_of(*operators, severity=severity, seed=seed, bounds=bounds)
    found = [on_model(plan, turn) for turn in range(30)]
    assert max(len(one) for one in found) <= 1
    runs = [len(list(run)) for hit, run in groupby(bool(one) for one in found) if hit]
    assert max(runs, default=0) <= bound
    assert [on_model(plan, turn) for turn in reversed(range(30))] == found[::-1]


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    severity=st.sampled_from([0.3, 0.6, 1.0]),
    bound=st.integers(1, 3),
    operators=st.lists(st.sampled_from([*ON_MODELS, *ON_LINKS]), min_size=2, max_size=6, unique=True),
)
def test_links_and_providers_together_destroy_no_longer_runs(
    seed: int, severity: float, bound: int, operators: list[str]
) -> None:
    bounds = f"{{faults_per_call: {bound}}}"
    plan = plan_of(*operators, severity=severity, seed=seed, bounds=bounds)

    def destroyed(turn: int) -> bool:
        found = (*on_link(plan, turn), *on_model(plan, turn))
        return any(decision.fault for decision, settings, _ in found if settings is not None)

    hits = [destroyed(turn) for turn in range(30)]
    runs = [len(list(run)) for hit, run in groupby(hits) if hit]
    assert max(runs, default=0) <= bound
    assert [destroyed(turn) for turn in reversed(range(30))] == hits[::-1]


def test_the_first_rule_that_acts_goes_before_the_others() -> None:
    plan = plan_of("model.empty", "model.overloaded", "model.rate_limited", severity=0.5)
    found = Counter(decided[0].operator for turn in range(400) for decided in on_model(plan, turn))
    assert found["model.empty"] > found["model.overloaded"] > found["model.rate_limited"] > 0


def test_what_destroys_nothing_comes_along() -> None:
    plan = plan_of("transport.latency", "transport.reset", "transport.status", "transport.first_token_delay")
    acting = [decision.operator for decision, _, _ in on_link(plan, 0)]
    assert acting == ["transport.latency", "transport.reset", "transport.first_token_delay"]


def test_rules_for_models_and_for_links_leave_each_other_alone() -> None:
    assert on_link(plan_of(*ON_MODELS), 0) == [] == on_model(plan_of(*ON_LINKS), 0)


def test_an_outage_has_faults_of_both_kinds_and_every_request_gets_through() -> None:
    profile = load("chaos/provider-outage")
    sites = Counter[str]()
    for seed in range(20):
        plan = make_plan(profile, Seed(seed, "s"))
        for turn in range(10):
            sites.update(one[0].site for one in (*on_model(plan, turn), *on_link(plan, turn)))
            last = plan.bounds.faults_per_call
            left = (*on_model(plan, turn, last), *on_link(plan, turn, last))
            assert not any(one[0].fault for one in left)
    assert sites["model_response"] > 20 and sites["transport"] > 20
