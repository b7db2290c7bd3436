"""Noise on a system prompt: what a session was told is told again, a new one is decided.

Made for the sessions of simulated users. One text is rewritten, before the task begins: the first of the
request's instructions. It is found again by what it says.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from re import search

from crosswind.injectors.conversation import InstructionText, Site
from crosswind.injectors.engine.decision import Decision, Injection, Known, NewlyShown
from crosswind.injectors.engine.plan import ActiveRule, Plan
from crosswind.injectors.engine.rule import apply_rule
from crosswind.injectors.guard import solvability
from crosswind.injectors.identity import slot_on
from crosswind.injectors.profiles.schedule import Occasion, due
from crosswind.injectors.targets import InstructionsTarget, Result
from crosswind.injectors.wording import Texts


def acts_on_instructions(plan: Plan) -> bool:
    """Whether the plan has a rule for instructions: without one no request's need a look."""
    return bool(plan.active_rules(Site.INSTRUCTIONS))


def perturb_instructions(
    plan: Plan,
    item: InstructionText,
    known: Mapping[str, Known],
    *,
    turn: int = 0,
    allow_new: bool = True,
    texts: Texts | None = None,
) -> tuple[str | None, NewlyShown | None]:
    """The text to show in place of the instructions (None: as they are), and what the ledger didn't know.

    `known`, `allow_new` and `texts` are as in `decide.perturb`; `turn` counts requests from 0. Pure; an
    operator that fails leaves the clean text and a withdrawn injection.
    """
    shown = known.get(item.anchor)
    if shown is not None:
        return shown.text, None
    text = item.text
    injections: list[Injection] = []
    done: list[Decision] = []
    for active in plan.active_rules(Site.INSTRUCTIONS).values() if allow_new else ():
        slot = slot_on(active.line, item.ordinal)
        if not _is_due(plan, active, item, turn) or not active.rule.when.by_chance(slot):
            continue
        outcome = apply_rule(
            active,
            InstructionsTarget(text, item.ordinal),
            slot,
            item.anchor,
            partial(_check, text),
            full=solvability.FULL if len(done) >= plan.bounds.events_per_session else None,
            texts=texts,
        )
        if outcome is None:
            continue
        after = None if outcome.payload is None else str(outcome.payload)
        injections.append(Injection(outcome.decision, text, after, outcome.note))
        if after is not None:
            text = after
            done.append(outcome.decision)
    shown_text = text if text != item.text else None
    return shown_text, NewlyShown(item, tuple(done), shown_text, tuple(injections))


def _is_due(plan: Plan, active: ActiveRule, item: InstructionText, turn: int) -> bool:
    rule = active.rule
    if rule.text and not search(rule.text, item.text):
        return False
    occasion = Occasion(item.ordinal, turn, 0, key=rule.key(plan, active.site.value))
    return due(rule.when, rule.window, occasion, plan.expected_turns)


def _check(before: str, result: Result) -> str | None:
    return solvability.after_instructions(before, str(result.payload))
