"""Noise on a system prompt: what a session was told is told again, a new one is decided.

Made for the sessions of simulated users. One text is rewritten, before the task begins: the first of the
request's instructions. It is found again by what it says.
"""

from __future__ import annotations

from collections.abc import Mapping
from re import search

from crosswind.injectors.conversation import InstructionText, Site
from crosswind.injectors.engine.decision import Decision, Injection, Known, NewlyShown
from crosswind.injectors.engine.plan import CompiledRule, Plan
from crosswind.injectors.engine.rule import Acting, carried_out, failed
from crosswind.injectors.guard import solvability
from crosswind.injectors.guard.solvability import NOTHING
from crosswind.injectors.identity import Slot
from crosswind.injectors.operator import Registered
from crosswind.injectors.profiles.schedule import Occasion, due
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, InstructionsTarget
from crosswind.injectors.wording import Texts, remark


def acts_on_instructions(plan: Plan) -> bool:
    """Whether the plan has a rule for instructions: without one no request's need a look."""
    return bool(plan.in_force(Site.INSTRUCTIONS))


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
    for rule, entry, *_ in plan.in_force(Site.INSTRUCTIONS).values() if allow_new else ():
        occasion = Occasion(item.ordinal, turn, 0, key=rule.key(plan, entry.site.value))
        if rule.text and not search(rule.text, item.text):
            continue
        if not due(rule.when, rule.window, occasion, plan.expected_turns):
            continue
        full = solvability.FULL if len(done) >= plan.bounds.events_per_session else None
        if (injection := _act(plan, rule, entry, item, text, texts, full)) is not None:
            injections.append(injection)
            if injection.after is not None:
                text = injection.after
                done.append(injection.decision)
    after = text if text != item.text else None
    return after, NewlyShown(item, tuple(done), after, tuple(injections))


def _act(
    plan: Plan,
    rule: CompiledRule,
    entry: Registered,
    item: InstructionText,
    text: str,
    texts: Texts | None,
    full: str | None,
) -> Injection | None:
    """One rule's work. None where its chance or its draw leave the text alone. `full` says why there is no
    room for it, where there is none.
    """
    names = (plan.seed, plan.scope, plan.scope_key, rule.operator, entry.site.value)
    slot = Slot(*names, ordinal=item.ordinal, rule=rule.name).key()
    if not Stream(f"{slot}|when").chance(rule.when.probability):
        return None
    target = InstructionsTarget(text, item.ordinal)

    def decision(draw: Draw) -> Decision:
        site, recovery = entry.site.value, entry.recovery.value
        return Decision(
            rule.operator, rule.name, site, slot, item.anchor, None, rule.severity, draw, recovery
        )

    try:
        drawn = entry.draw(rule.options, target, Stream(slot), rule.severity)
    except Exception as error:
        return Injection(decision({}), text, None, f"Not injected: {failed(error)}.")
    if drawn is None:
        return None
    acting = Acting(entry, target, slot, rule.severity, rule.prompt)
    attempt = carried_out(
        acting,
        drawn,
        lambda result: solvability.after_instructions(text, str(result.payload)) or full,
        None if full else texts,
    )
    if attempt.refused == NOTHING:
        return None
    made = decision(attempt.draw)
    if attempt.refused is not None or attempt.result is None:
        return Injection(made, text, None, f"Not injected: {attempt.refused}.")
    note = f"{attempt.result.note} {solvability.why_solvable(entry, plan.bounds)}{remark(attempt.draw)}"
    return Injection(made, text, str(attempt.result.payload), note)
