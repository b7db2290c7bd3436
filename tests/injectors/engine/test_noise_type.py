"""A session's noise type is one of those that its first request allows, by their weights."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from crosswind.injectors.engine.noise_type import FirstRequest, find_allowed_types, is_type_open
from crosswind.injectors.engine.plan import Assignment, Plan, Seed, make_plan
from crosswind.injectors.profiles.load import parse
from tests.injectors.dialogues import TOOLS, conversation

PROFILE = parse(
    """\
name: mixture
compose: one_of
at_least_one: true
rules:
  - {operator: user.typos, severity: 0.5}
  - {operator: user.redundant, severity: 0.5, weight: 3}
  - {operator: tool.timeout, severity: 0.5, weight: 4}
  - {operator: tool.incomplete, severity: 0.5, where: {tools: [search_*]}}
  - {operator: schema.paraphrase_tool, severity: 0.5}
  - {operator: transport.latency, severity: 0.5}
""",
    "t",
)
NOISY = Assignment("noisy")
WRITES = [{"type": "function", "function": {"name": "cancel_order", "parameters": {"type": "object"}}}]


def allowed(text: str, tools: list[Any], seed: int = 0) -> tuple[str, ...]:
    said = [{"role": "user", "content": text}] if text else []

    def plan_for(name: str) -> Plan:
        return make_plan(PROFILE, Seed(seed, "s"), Assignment("noisy", name))

    return find_allowed_types(PROFILE, plan_for, FirstRequest(conversation(said, tools)))


def test_tools_and_the_first_message_allow_types() -> None:
    said = "Please look up the order that I placed on Monday, and tell me when it will come."
    everything = [rule.operator for rule in PROFILE.rules]
    assert list(allowed(said, TOOLS)) == everything
    assert allowed(said, []) == ("user.typos", "user.redundant", "transport.latency")
    assert "tool.timeout" not in allowed(said, WRITES), "a write's result may not be destroyed"
    assert "tool.incomplete" not in allowed(said, TOOLS[:1]), "its scope has no tool"
    assert "user.typos" not in allowed("#W17 12:30", TOOLS)
    assert allowed("", []) == ("transport.latency",)


def test_the_weights_of_the_allowed_types_are_renormalised() -> None:
    drawn: Counter[str | None] = Counter()
    names = ("user.typos", "user.redundant")
    for seed in range(600):
        plan = make_plan(PROFILE, Seed(seed, "s"), Assignment("noisy", allowed_types=names))
        assert plan.allowed_types == names and {rule.operator for rule in plan.rules} == {plan.noise_type}
        drawn[plan.noise_type] += 1
    assert drawn.keys() == set(names)
    assert drawn["user.redundant"] / 600 == pytest.approx(0.75, abs=0.06)


@pytest.mark.parametrize("seed", range(20))
def test_where_all_are_allowed_the_type_is_the_one_drawn_without_knowing(seed: int) -> None:
    every = tuple(rule.operator for rule in PROFILE.rules)
    plans = [
        make_plan(PROFILE, Seed(seed, "s"), Assignment("noisy", allowed_types=types))
        for types in (None, every, ())
    ]
    assert len({plan.noise_type for plan in plans}) == 1
    assert [plan.allowed_types for plan in plans] == [None, every, ()]
    assert Plan.from_json(plans[1].to_json()) == plans[1]


def test_a_type_is_open_only_where_it_was_not_assigned() -> None:
    assert is_type_open(PROFILE, NOISY)
    assert not is_type_open(PROFILE, Assignment("clean"))
    assert not is_type_open(PROFILE, Assignment("noisy", "user.typos"))
    by_chance = PROFILE.model_copy(update={"at_least_one": False})
    assert not is_type_open(by_chance, NOISY)
    assert is_type_open(by_chance, Assignment("noisy", at_least_one=True))
