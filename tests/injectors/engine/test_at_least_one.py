"""`at_least_one`: a rule acts at the first place that it has, and by chance from then on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosswind.injectors import operator
from crosswind.injectors.conversation import Site
from crosswind.injectors.engine.decision import Injection
from crosswind.injectors.engine.faults import decide_faults
from crosswind.injectors.engine.messages import perturb_messages
from crosswind.injectors.engine.plan import Assignment, Plan
from crosswind.injectors.engine.tools import perturb_tools
from crosswind.injectors.profiles.load import load
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Effect, Half, Recovery, Result, UserTarget
from tests.injectors.dialogues import TOOLS, call, conversation, conversations, order_desk
from tests.injectors.engine.test_messages import ledger
from tests.injectors.plans import plan_of, plan_with

RARE = 0.02
TEXTS = sorted({rule.operator for name in ("noisyagent/all", "noisyagent") for rule in load(name).rules})
LINKS = ("transport.reset", "transport.latency", "model.empty")


def must(name: str, seed: int = 0, when: str = "at_least_one: true", severity: float = RARE) -> Plan:
    return plan_with(name, severity=severity, seed=seed, when=f"{{{when}}}")


def events(plan: Plan, messages: list[dict[str, Any]]) -> list[Injection]:
    found = perturb_messages(plan, conversation(messages, TOOLS), {})
    return [one for new in found.new for one in new.injections]


@pytest.mark.parametrize("name", TEXTS)
@settings(max_examples=25, deadline=None)
@given(messages=conversations(), seed=st.integers(0, 1000))
def test_a_session_with_a_place_is_exposed_unless_the_guard_refused_all(
    name: str, messages: list[dict[str, Any]], seed: int
) -> None:
    """What certainty draws at severity 1 are the places; the rule has drawn at the first of them."""
    places = [one.decision.anchor for one in events(plan_with(name, severity=1.0, seed=seed), messages)]
    drawn = events(must(name, seed), messages)
    acted = [one for one in drawn if one.after is not None]
    if places:
        assert drawn and (acted or all(one.withheld is not None for one in drawn))
    if acted and places:
        before = drawn[: drawn.index(acted[0])]
        assert all(one.withheld is not None for one in before)


@pytest.mark.parametrize("name", TEXTS)
@settings(max_examples=15, deadline=None)
@given(messages=conversations(), seed=st.integers(0, 1000), cut=st.integers(0, 12))
def test_a_longer_conversation_never_changes_what_was_shown(
    name: str, messages: list[dict[str, Any]], seed: int, cut: int
) -> None:
    plan = must(name, seed, "at_least_one: true, probability: 0.3")
    at_once = perturb_messages(plan, conversation(messages, TOOLS), {})
    first = perturb_messages(plan, conversation(messages[:cut], TOOLS), {})
    second = perturb_messages(plan, conversation(messages, TOOLS), ledger(first))
    assert second.replacements == at_once.replacements
    assert {**ledger(first), **ledger(second)} == ledger(at_once)


@pytest.mark.parametrize("name", ["tool.timeout", "tool.incomplete", "user.typos", "user.redundant"])
def test_beyond_the_first_place_severity_is_the_frequency(name: str) -> None:
    """The first place is met by all, and the later ones as often as without the setting."""

    def later(plan: Plan) -> int:
        whole = perturb_messages(plan, conversation(messages, TOOLS), {}).new
        met = [any(one.after is not None for one in new.injections) for new in whole if new.item.site == site]
        firsts.append(met[0])
        return sum(met[1:])

    site = Site.TOOL_RESULT if name.startswith("tool.") else Site.USER_TEXT
    messages: list[dict[str, Any]] = []
    for number in range(8):
        messages.append({"role": "user", "content": f"Where is the parcel for order #W{number}, please?"})
        order = {"order_id": f"#W{number}", "status": "delivered", "city": "Cologne", "weight": number}
        messages += call("get_order", {"order_id": f"#W{number}"}, json.dumps(order), number)
    firsts: list[bool] = []
    forced = sum(later(must(name, seed, severity=0.15)) for seed in range(60))
    assert all(firsts)
    plain = sum(later(plan_with(name, severity=0.15, seed=seed)) for seed in range(60))
    assert not all(firsts[60:]) or name.startswith("user.")
    assert abs(forced - plain) <= max(12, 0.5 * plain)


def test_the_first_place_is_one_that_the_schedule_has() -> None:
    (one,) = events(must("tool.timeout", when="at_least_one: true, nth: 3, probability: 0.001"), order_desk())
    assert "call_2" in one.decision.anchor
    assert events(must("tool.timeout", when="at_least_one: true, start: 50"), order_desk()) == []
    bursts = "at_least_one: true, burst: {enter: 0.001, leave: 0.9}"
    assert len(events(must("tool.timeout", when=bursts), order_desk())) == 1


class _RefusedTwice:
    """It takes what the user said away, but for the third message on. Severity: a chance."""

    def draw(self, target: UserTarget, rng: SeededRandom, severity: float) -> Draw | None:
        return {} if rng.chance(severity) else None

    def apply(self, target: UserTarget, draw: Draw) -> Result:
        return Result("" if target.ordinal < 2 else f"{target.text} Well.", "Said more.")


@pytest.mark.usefixtures("own_registry")
def test_a_refusal_of_the_guards_is_no_exposure() -> None:
    operator.operator(
        "user.refused_twice",
        site=Site.USER_TEXT,
        recovery=Recovery.NONE_NEEDED,
        effect=Effect.ADDS,
        source="a test",
    )(_RefusedTwice)
    said = [{"role": "user", "content": f"Look up order #W{number}."} for number in range(4)]
    found = events(must("user.refused_twice"), said)
    assert [one.after is None for one in found] == [True, True, False]


def decide_all(plan: Plan, turns: Sequence[bool], memory: Any = None) -> list[list[Any]]:
    """The faults of a session's exchanges, each a stream or not, as a gateway has them decided."""
    found, met = list[list[Any]](), 0
    for turn, streaming in enumerate(turns):
        at: dict[str, Any] = {"turn": turn, "attempt": 0, "streaming": streaming, "met": met}
        found.append(decide_faults(plan, **at, memory=memory))
        met += sum(one.fault is not None for one in found[-1])
    return found


@pytest.mark.parametrize("name", LINKS)
@pytest.mark.parametrize("seed", range(8))
def test_the_first_answer_meets_a_fault_of_the_link(name: str, seed: int) -> None:
    plan = must(name, seed)
    at_once = decide_all(plan, [True] * 12)
    assert at_once[0]
    memory: Any = {}
    assert decide_all(plan, [True] * 12, memory) == at_once
    for turn in (3, 11, 0):
        met = sum(len(one) for one in at_once[:turn])
        again = decide_faults(plan, turn=turn, attempt=0, streaming=True, met=met, memory=memory)
        assert again == at_once[turn]
    if name != "transport.latency":  # It has no chance of its own.
        assert sum(bool(one) for one in at_once) <= 4


def test_a_fault_of_streams_is_met_by_the_first_stream() -> None:
    for seed in range(6):
        found = decide_all(must("transport.sse_cut", seed), [False, False, True, True, False], {})
        assert [bool(one) for one in found[:3]] == [False, False, True]


def test_an_answer_that_another_fault_destroyed_is_no_place() -> None:
    plan = plan_with(
        "transport.reset",
        "model.empty",
        severity=RARE,
        when="{at_least_one: true}",
        more="bounds: {faults_per_call: 1}",
    )
    decided = decide_all(plan, [True] * 6, {})
    met = {one.decision.operator for found in decided for one in found if one.fault is not None}
    assert met == {"transport.reset", "model.empty"}


@pytest.mark.parametrize("seed", range(5))
def test_one_of_the_declared_tools_meets_noise_once(seed: int) -> None:
    tools = conversation(order_desk(), TOOLS).tools
    name = "schema.paraphrase_tool"
    plan = must(name, seed, "at_least_one: true, probability: 0.001", severity=1.0)
    shown = perturb_tools(plan, tools)
    assert len(shown.decisions) == 1
    more = perturb_tools(plan, conversation(order_desk(), [*TOOLS[::-1]]).tools, known=shown, turn=1)
    assert more.decisions == shown.decisions


def test_the_profile_or_the_assignment_says_it_for_all_rules() -> None:
    text = "name: t\nat_least_one: true\nrules:\n  - operator: schema.misleading_description\n"
    text += "    severity: 0.1\n"
    text += "    with: [{operator: user.cost_cue, severity: 0.1}]\n"
    rules = plan_of(text).rules
    assert [rule.when.at_least_one for rule in rules] == [True, False]
    dose = Assignment("noisy", at_least_one=True)
    assert all(rule.when.at_least_one for rule in plan_of("noisyagent", 0, dose).rules)
    assert not any(rule.when.at_least_one for rule in plan_of("noisyagent", 0).rules)


def test_a_plan_of_an_older_store_goes_by_chance() -> None:
    stored = plan_of("noisyagent").to_json()
    for rule in stored["rules"]:
        del rule["when"]["at_least_one"]
    plan = Plan.from_json(stored)
    assert not any(rule.when.at_least_one for rule in plan.rules)


def test_the_first_observation_in_a_users_message_meets_noise() -> None:
    where = "where: {observation: 'observation is: (.*)'}"
    text = f"name: t\nrules:\n  - {{operator: state.irrelevant, severity: 0.1, {where}, when: {{WHEN}}}}\n"
    said = "Find the mug. observation is: You are in the kitchen. On the table you see a cup."
    messages = [{"role": "user", "content": said}, {"role": "assistant", "content": "go on"}] * 5
    chance = "at_least_one: false, probability: 0.001"
    for when, expected in ((chance, 0), (chance.replace("false", "true"), 1)):
        found = events(plan_of(text.replace("WHEN", when)), messages)
        assert [one.after is not None for one in found] == [True] * expected


def test_noise_on_observations_draws_from_the_sessions_half() -> None:
    text = (
        "name: t\nrules:\n  - {operator: state.irrelevant, severity: 1.0, "
        "where: {observation: 'observation is: (.*)'}}\n"
    )
    said = 'Find the mug. observation is: {"room": "kitchen", "seen": ["cup", "plate"], "door": "open"}'
    shown = [
        {
            one.after
            for one in events(replace(plan_of(text), phrases=half), [{"role": "user", "content": said}])
        }
        for half in Half
    ]
    assert all(shown) and shown[0] != shown[1]
