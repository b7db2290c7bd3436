"""The plan of one session, made for a test."""

from __future__ import annotations

from typing import Any

from crosswind.injectors.engine.plan import Assignment, Plan, Seed, make_plan
from crosswind.injectors.profiles.load import load, parse


def plan_of(profile: str, seed: int = 0, assignment: Assignment | None = None, **options: Any) -> Plan:
    """The plan under a built-in profile, or under the YAML of one. `options` are those of `make_plan`."""
    known = parse(profile, "t") if ":" in profile else load(profile)
    return make_plan(known, Seed(seed, "s"), assignment, **options)


def plan_with(
    *operators: str, severity: float = 1.0, seed: int = 0, when: str = "{}", more: str = "", **options: Any
) -> Plan:
    """The plan under rules for these operators. `more` is what the profile's YAML says besides."""
    rules = "".join(f"  - {{operator: '{name}', severity: {severity}, when: {when}}}\n" for name in operators)
    return plan_of(f"name: t\n{more}\nrules:\n{rules}", seed, **options)
