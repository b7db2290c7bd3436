"""The interaction pattern of a simulated user, as its session's plan decides it."""

from __future__ import annotations

from typing import Any

from crosswind.injectors.conversation import Site
from crosswind.injectors.engine.plan import NO_RULES, Plan
from crosswind.injectors.engine.rule import Attempt, draw_rule
from crosswind.injectors.identity import slot_on
from crosswind.injectors.targets import Branch, InstructionsTarget


def find_behaviours(plan: Plan) -> list[dict[str, Any]]:
    """How the plan's user behaves: what a model that plays it is told in words. A scripted user acts on it;
    empty where the plan has no pattern. Pure, so that it needs no record of its own.
    """
    found: list[dict[str, Any]] = []
    for active in plan.rules_by_site.get(Site.INSTRUCTIONS, NO_RULES).values():
        slot = slot_on(active.line, 0, 0)
        if not (active.certain or active.rule.when.by_chance(slot)):
            continue
        target = InstructionsTarget("A user.", 0, Branch(plan.phrases, plan.session_key))
        drawn = draw_rule(active, target, slot, "")
        if drawn is not None and not isinstance(drawn, Attempt):
            found += drawn.get("behaviours", ())
    return found
