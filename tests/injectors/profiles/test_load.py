"""Profiles: what the built-in ones hold, and the plans that they become."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import fields
from typing import Any

import pytest

from crosswind.injectors import registry
from crosswind.injectors.cli import examples
from crosswind.injectors.conversation import Site
from crosswind.injectors.engine.plan import Assignment, Plan, Seed, make_plan
from crosswind.injectors.profiles import load as profile
from crosswind.injectors.profiles.load import Compose, ProfileError, load, parse
from crosswind.injectors.profiles.schedule import When
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.text.json_payload import looks_destroyed
from tests import ROOT
from tests.injectors.plans import plan_of, plan_with


@pytest.mark.parametrize("name", profile.names())
def test_built_in_profiles_are_sound_and_say_what_they_are(name: str) -> None:
    known = load(name)
    assert known.name == name
    assert known.summary
    assert known.source or name == "off"


STATIC = {
    *("Typo", "QueryPara", "ToolPara", "ParamPara", "Dup-NoDesc", "Dup-Desc", "Dup-WrongP", "Dup-DescWP"),
    *("Dup-SwapDP", "RedunTool", "MisDesc", "MisDesc-N", "MisDesc-Abbr", "TimeDesc", "TimeDesc-N"),
    "TimeDesc-Abbr",
}
TRANSITIONS = {"Timeout", "RateLim", "AuthErr", "5xxErr", "Malform", "SchemaD"}
CODES = {
    *("ambiguity", "topic_shift", "conflict", "redundancy", "boundary"),
    *("error", "failure", "incomplete", "induce", "tool-redundancy"),
}


def test_the_profiles_that_the_papers_and_everything_else_name_are_there() -> None:
    needed = {"off", "noisyagent", "everything", "agentnoisebench/all", "toolrl-dr/full", "toolrl-dr/mixed"}
    needed |= {f"robustbench-tc/{name}" for name in STATIC | TRANSITIONS}
    needed |= {f"agentnoisebench/{name}" for name in CODES}
    needed |= {"state-augmentation/v1", "state-augmentation/v2"}
    needed |= {f"wildgrid/{name}" for name in ("noisy-signals", "drift", "shift")}
    needed |= {f"chaos/{name}" for name in ("brownout", "flaky-tools", "provider-outage", "confused-users")}
    needed |= {"noisyagent/all", "noisyagent/interaction-pattern", "evolved/v1", "evolved/v2"}
    assert needed <= set(profile.names())
    assert len(STATIC) == 16 and len(STATIC | TRANSITIONS) == 22
    assert profile.levels("noisyagent") == [f"noisyagent/level-{level}" for level in range(6)]
    for level in profile.levels("noisyagent"):
        assert load(level).level == int(level[-1])
    assert profile.levels("off") == []


@pytest.mark.parametrize("name", sorted(STATIC | TRANSITIONS))
def test_a_profile_of_a_benchmark_has_the_operator_that_it_is_named_after(name: str) -> None:
    known = load(f"robustbench-tc/{name}")
    entry = registry.resolve(name)
    assert [rule.operator for rule in known.rules] == [entry.name]
    for other in (entry.name, *entry.aliases):
        assert load(f"robustbench-tc/{other}") == known
    if name in TRANSITIONS:
        assert known.rules[0].when.first_call and known.rules[0].severity == 1.0


def test_noisyagents_own_kinds_are_those_of_its_appendix() -> None:
    user, tool = ("ambiguous", "inconsistent", "redundant", "out_of_scope"), ("incomplete", "redundant")
    kinds = {*(f"user.{kind}" for kind in user), *(f"tool.{kind}" for kind in tool)}
    # Its failures, and its misleading results: "incorrect or inconsistent information".
    kinds |= {"tool.execution_failure", "tool.erroneous"}
    own, mixed = load("noisyagent/all"), load("noisyagent")
    assert {rule.operator for rule in own.rules} == kinds
    assert (own.compose, own.levels, own.bounds) == (mixed.compose, mixed.levels, mixed.bounds)


def test_an_evolved_profile_tells_where_it_comes_from() -> None:
    lineage = load("evolved/v1").lineage
    assert lineage is not None and lineage["against"] == "agentnoisebench/all"
    for agent in ("reference", "second"):
        assert lineage[agent]["difference"]["high"] < 0, "it hurts more than the hand-made one"
        for measure in ("injections", "severity", "added"):
            assert lineage[agent]["evolved"][measure] <= lineage[agent]["hand_made"][measure]


def test_the_second_hurts_an_agent_that_it_was_not_searched_on_and_is_not_easily_told() -> None:
    """At equal dose and under the limits, on three of four seeds."""
    lineage = load("evolved/v2").lineage
    limits = lineage["detectability"]["limits"]
    sound = [
        one["at_equal_dose"]["high"] < 0
        and all(one["detectability"][name] <= limit for name, limit in limits.items())
        for one in lineage["second"]
    ]
    assert len(sound) == 4 and sum(sound) >= 3
    assert limits == {"phrases": 0.4, "regression": 0.6}


def test_off_has_no_rules_and_everything_has_every_operator_and_is_capped() -> None:
    assert load("off").rules == ()
    # What rewrites a simulated user's instructions is for other sessions than the agent's.
    agents = {name for name, entry in registry.operators().items() if entry.site is not Site.INSTRUCTIONS}
    everything = load("everything")
    assert {rule.operator for rule in everything.rules} == agents
    bounds = everything.bounds
    assert bounds.faults_per_session < 10 and bounds.events_per_session < 100 and bounds.events_per_tool


def test_noisyagent_draws_one_of_its_types() -> None:
    known = load("noisyagent")
    offered = {"user.typos", "user.redundant", "tool.timeout", "tool.incomplete", "tool.misleading"}
    assert known.compose is Compose.ONE_OF
    assert {rule.operator for rule in known.rules} == offered
    assert known.levels[0] == 0 and len(known.levels) == 6
    drawn = [plan_of("noisyagent", seed) for seed in range(300)]
    assert {plan.noise_type for plan in drawn} == offered
    assert all([rule.operator for rule in plan.rules] == [plan.noise_type] for plan in drawn)
    assert all(35 < sum(plan.noise_type == name for plan in drawn) < 90 for name in offered)


def test_a_level_in_the_name_settles_the_severity() -> None:
    plan = plan_of("noisyagent/level-2")
    assert (plan.profile, plan.level) == ("noisyagent/level-2", 2)
    assert plan.rules[0].severity == load("noisyagent").levels[2]


def test_aliases_stand_for_our_names() -> None:
    rules = parse("name: t\nlevels: [0, 1]\nrules: [{operator: Timeout}, {operator: induce}]", "t").rules
    assert [rule.operator for rule in rules] == ["tool.timeout", "tool.misleading"]


@pytest.mark.parametrize(
    "name,words",
    [
        ("noisyagnt", "'noisyagent'"),
        ("noisyagent/level-9", "0 to 5"),
        ("noisyagent/level-x", "'x' is no number"),
        ("off/level-1", "has no levels"),
        ("", "known are"),
    ],
)
def test_an_unknown_name_is_an_error_that_names_the_nearest(name: str, words: str) -> None:
    with pytest.raises(ProfileError, match=words.replace("(", r"\(")):
        load(name)


def test_a_sequence_gives_each_rule_its_part_of_the_session() -> None:
    first, second = plan_with("user.typos", "tool.timeout", more="compose: sequence").rules
    assert (first.window, second.window) == ((0.0, 0.5), (0.5, 1.0))


@pytest.mark.parametrize("name", profile.names())
@pytest.mark.parametrize("seed", range(5))
def test_a_plan_survives_its_json(name: str, seed: int) -> None:
    plan = make_plan(load(name), Seed(seed, "g", "group"), Assignment("noisy", curriculum_version=3))
    assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


def test_two_rules_of_one_operator_have_names_of_their_own() -> None:
    plan = plan_with("tool.timeout", "tool.timeout")
    assert [rule.name for rule in plan.rules] == ["tool.timeout", "tool.timeout#2"]


@pytest.mark.parametrize(
    "name,assignment,says",
    [
        ("off", {"arm": "loud"}, "arm 'loud'"),
        ("noisyagent", {"level": 6}, "levels 0 to 5, not 6"),
        ("chaos/brownout", {"level": 2}, "no levels"),
        ("noisyagent", {"noise_type": "transport.latency"}, r"no rule for noise type 'transport\.latency'"),
        ("off", {"noise_type": "tool.timeout"}, "name another profile"),
        ("noisyagent", {"noise_type": "Typos"}, "did you mean 'Typo'"),
    ],
)
def test_a_plan_refuses_what_its_profile_does_not_have(
    name: str, assignment: dict[str, Any], says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        plan_of(name, 0, Assignment(**{"arm": "noisy"} | assignment))


def test_a_seed_with_an_unknown_scope_and_data_of_no_plan_are_refused() -> None:
    with pytest.raises(ValueError, match="scope 'run'"):
        Seed(0, "s", "run")
    with pytest.raises(ValueError, match="not a plan"):
        Plan.from_json({"profile": 3})


def test_companions_come_with_their_rule_and_are_no_type_of_their_own() -> None:
    known = parse(
        "name: t\ncompose: one_of\nrules:\n"
        "  - {operator: CD, severity: 1, with: [{operator: user.cost_cue, severity: 0.5}]}\n"
        "  - {operator: TD, severity: 1, with: [{operator: user.speed_cue, severity: 0.5}]}\n",
        "t",
    )
    plans = [make_plan(known, Seed(seed, "g", "group")) for seed in range(40)]
    found = {plan.noise_type: [rule.operator for rule in plan.rules] for plan in plans}
    assert found == {
        "schema.misleading_description": ["schema.misleading_description", "user.cost_cue"],
        "schema.misleading_time": ["schema.misleading_time", "user.speed_cue"],
    }
    assert plans[0].rules[1].severity == 0.5


def test_domain_randomisation_draws_each_offline_type_for_every_task_or_for_half_of_them() -> None:
    def drawn(name: str) -> list[Plan]:
        known = load(name)
        keys = (f"task-{number}" for number in range(640))
        return [make_plan(known, Seed(1, key, "group")) for key in keys]

    full, mixed = drawn("toolrl-dr/full"), drawn("toolrl-dr/mixed")
    types = Counter(plan.noise_type for plan in full)
    assert len(types) == 16 and min(types.values()) > 20
    assert all(plan.rules for plan in full)
    assert 280 < sum(bool(plan.rules) for plan in mixed) < 360
    assert not any(str(name).startswith("tool.") for name in types), "transitions are never trained on"


def test_all_of_agentnoisebench_draws_one_of_its_ten_kinds() -> None:
    known = load("agentnoisebench/all")
    assert known.compose is Compose.ONE_OF
    kinds = [f"agentnoisebench/{code}" for code in CODES]
    assert {load(kind).rules[0].operator for kind in kinds} == {rule.operator for rule in known.rules}
    assert len(known.rules) == len(kinds) == 10


@pytest.mark.parametrize(
    "whole,parts",
    [
        ("noisyagent/all", ("noisyagent/user", "noisyagent/tool")),
        ("agentnoisebench/all", ("agentnoisebench/user", "agentnoisebench/tool")),
        ("toolrl-dr/full", tuple(f"robustbench-tc/{name}" for name in ("observation", "action", "reward"))),
    ],
)
def test_the_groups_of_a_papers_components_divide_its_kinds_with_their_doses(
    whole: str, parts: tuple[str, ...]
) -> None:
    rules = [rule for part in parts for rule in load(part).rules]
    assert sorted(rules, key=lambda rule: rule.operator) == sorted(
        load(whole).rules, key=lambda rule: rule.operator
    )
    assert all(load(part).compose is Compose.ONE_OF for part in parts)
    assert all(load(part).bounds == load(whole).bounds for part in parts)


def test_the_transitions_are_a_group_of_their_own() -> None:
    known = load("robustbench-tc/transition")
    assert {rule.operator for rule in known.rules} == {registry.resolve(name).name for name in TRANSITIONS}
    assert all(rule.when.first_call and rule.severity == 1.0 for rule in known.rules)


def test_options_reach_the_draw_and_a_replay_needs_none() -> None:
    [rule] = plan_of("agentnoisebench/failure").rules
    entry = registry.resolve("failure")
    target = examples.sample(Site.TOOL_RESULT)
    draws = [entry.draw(rule.options, target, SeededRandom(f"{seed}"), 1.0) or {} for seed in range(200)]
    assert {draw["kind"] for draw in draws} == {"401", "403", "408", "429"}
    for draw in draws:
        text = str(entry.implementation.apply(target, draw).payload)
        assert text == draw["text"] and looks_destroyed(text, examples.TOOL_RESULT)
    by_default = [entry.draw({}, target, SeededRandom(f"{seed}"), 1.0) or {} for seed in range(200)]
    assert len({draw["kind"] for draw in by_default}) == 7


def test_labels_keep_noise_to_the_sessions_that_have_them() -> None:
    def rules(labels: dict[str, object] | None) -> int:
        return len(
            plan_with("tool.timeout", more="labels: {team: support-*, tier: '2'}", labels=labels).rules
        )

    assert rules({"team": "support-eu", "tier": 2, "more": None}) == 1
    assert rules({"team": "sales", "tier": 2}) == rules({"team": "support-eu"}) == rules(None) == 0


def test_the_documented_profile_is_sound_and_every_condition_is_documented() -> None:
    page = (ROOT / "docs" / "profiles.md").read_text(encoding="utf-8")
    example = page.partition("```yaml\n")[2].partition("```")[0]
    known = parse(example, "docs/profiles.md")
    assert known.compose is Compose.ONE_OF and len(known.rules) == 3 and known.rules[1].companions
    table = page.partition("| key | acts |")[2].partition("\n\n")[0]
    assert [one.name for one in fields(When) if f"`{one.name}" not in table] == []
