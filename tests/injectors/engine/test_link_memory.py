"""What is remembered of earlier exchanges changes nothing about later ones."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from crosswind.injectors.conversation import Site
from crosswind.injectors.engine.link import decide_transport
from crosswind.injectors.engine.model_link import decide_model
from crosswind.injectors.engine.plan import Plan, Seed, make_plan
from crosswind.injectors.profiles.load import parse

RULES = """
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
PROFILE = parse(RULES, "t")


def plan_of(seed: int) -> Plan:
    return make_plan(PROFILE, Seed(seed, "s"))


def decided(plan: Plan, link: str, where: dict[str, Any]) -> Any:
    return decide_transport(plan, link=link, **where), decide_model(plan, **where)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 500),
    asked=st.lists(
        st.tuples(st.integers(0, 100), st.integers(0, 2), st.booleans(), st.sampled_from(["model", "tools"])),
        max_size=20,
    ),
)
def test_turns_asked_for_in_any_order_get_what_each_alone_gets(
    seed: int, asked: list[tuple[int, int, bool, str]]
) -> None:
    plan = plan_of(seed)
    for turn, attempt, streaming, link in asked:
        where = {"turn": turn, "attempt": attempt, "streaming": streaming}
        assert decided(plan, link, where) == decided(plan_of(seed), link, where)
    assert plan == plan_of(seed)
    assert Plan.from_json(plan.to_json()) == plan


def test_a_turn_plays_no_earlier_turn_over() -> None:
    """Counted, not timed: what one more turn asks doesn't grow with the turns before it."""
    plan = plan_of(1)
    for turn in range(300):
        decide_transport(plan, link="model", turn=turn, attempt=0, streaming=True)
    recollection = plan.recollections()[Site.TRANSPORT, "model", True]
    asked: list[int] = []
    for rule in plan.rules[:2]:
        recollection.counted(rule.name, 300, lambda earlier, _: bool(asked.append(earlier)))
    recollection.run_before(300, lambda earlier: asked.append(earlier) is None)
    assert min(asked) > 290
