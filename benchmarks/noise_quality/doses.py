"""The dose at which an operator is measured: that of the paper's profile, and severity 1."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from crosswind.injectors.engine.plan import Plan, Seed, make_plan
from crosswind.injectors.profiles.load import Companion, Profile, load, names, parse

PAPER, FULL = "paper", "full"
ORDER = (
    "robustbench-tc/",
    "agentnoisebench/",
    "noisyagent/all",
    "noisyagent/",
    "state-augmentation/",
    "wildgrid/noisy-signals",
)
"""Whose dose counts, where several profiles have an operator."""
OURS = 0.5
"""The severity where no paper has one."""


@cache
def find_paper(operator: str) -> Profile | None:
    """The profile that holds the paper's dose of an operator."""
    for prefix in ORDER:
        for name in names():
            profile = load(name)
            if name.startswith(prefix) and any(rule.operator == operator for rule in _all_rules(profile)):
                return profile
    return None


def rules_of(operator: str, dose: str) -> list[Mapping[str, Any]]:
    """The operator's rules, without their schedules: every target is an occasion."""
    profile = find_paper(operator)
    if dose == FULL or profile is None:
        return [{"operator": operator, "severity": 1.0 if dose == FULL else OURS}]
    default = profile.levels[profile.level if profile.level is not None else -1] if profile.levels else OURS
    kept = {"operator", "severity", "where", "options", "prompt"}
    return [
        {"severity": default, **rule.model_dump(include=kept, exclude_none=True, exclude_defaults=True)}
        for rule in _all_rules(profile)
        if rule.operator == operator
    ]


def _all_rules(profile: Profile) -> list[Companion]:
    """Its rules with their companions."""
    return [one for rule in profile.rules for one in (rule, *rule.companions)]


@cache
def _profile(operator: str, dose: str) -> Profile:
    """Bounds that never bind, and every call may be repeated: what is measured is the operator alone."""
    bounds = {"faults_per_call": 100, "faults_per_session": 10_000, "events_per_session": 10_000}
    document = {
        "name": "noise-quality",
        "assume_tools": "replayable",
        "bounds": bounds,
        "rules": rules_of(operator, dose),
    }
    return parse(json.dumps(document), "noise-quality")


def plan_of(operator: str, dose: str, seed: int, name: str) -> Plan:
    return make_plan(_profile(operator, dose), Seed(seed, name))
