"""Noise on a link: which settings an exchange gets. The gateway carries them out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from injectors import registry
from injectors.conversation import Site
from injectors.decide import Decision
from injectors.identity import Slot
from injectors.operator import Registered, TransportTarget
from injectors.plan import CompiledRule, Plan
from injectors.schedule import Occasion, due
from injectors.solvability import why_solvable
from injectors.streams import Stream

Settings = Mapping[str, Any]
"""What the gateway does to the exchange, in named units: `{"delay_ms": 120.0}`."""


def decide_transport(
    plan: Plan, *, link: str, turn: int, attempt: int, streaming: bool
) -> list[tuple[Decision, Settings, str]]:
    """The transport noise of one exchange: (decision, settings, note) per operator that acts, in the plan's
    order.

    `turn` counts the session's exchanges on this link from 0. A repeated attempt at a turn is drawn anew.
    Schedules with a memory (`at_most`, `min_interval`) are replayed from turn 0 over first attempts. Pure;
    never raises.
    """
    out: list[tuple[Decision, Settings, str]] = []
    for rule in plan.rules:
        entry = registry.operators().get(rule.operator)
        if entry is None or entry.site is not Site.TRANSPORT:
            continue
        injected, last = _remembered(plan, rule, entry, link, turn)
        occasion = Occasion(turn, turn, injected, last)
        if injected < plan.bounds.events_per_session and due(
            rule.when, rule.window, occasion, plan.expected_turns
        ):
            decided = _decided(plan, rule, entry, TransportTarget(link, turn, attempt, streaming))
            if decided is not None:
                out.append(decided)
    return out


def _remembered(
    plan: Plan, rule: CompiledRule, entry: Registered, link: str, turn: int
) -> tuple[int, int | None]:
    if rule.when.at_most is None and rule.when.min_interval is None:
        return 0, None
    injected, last = 0, None
    for earlier in range(turn):
        occasion = Occasion(earlier, earlier, injected, last)
        if due(rule.when, rule.window, occasion, plan.expected_turns) and _decided(
            plan, rule, entry, TransportTarget(link, earlier)
        ):
            injected, last = injected + 1, earlier
    return injected, last


def _decided(
    plan: Plan, rule: CompiledRule, entry: Registered, target: TransportTarget
) -> tuple[Decision, Settings, str] | None:
    slot = Slot(
        plan.seed,
        plan.scope,
        plan.scope_key,
        rule.operator,
        f"{entry.site.value}:{target.link}",
        target.ordinal,
        target.attempt,
        rule=rule.name,
    ).key()
    if not Stream(f"{slot}|when").chance(rule.when.probability):
        return None
    try:
        draw = entry.implementation.draw(target, Stream(slot), rule.severity)
        if draw is None:
            return None
        result = entry.implementation.apply(target, draw)
        if not isinstance(result.payload, Mapping):
            return None
        settings = dict(result.payload)
    except Exception:
        # Noise must never break traffic: an operator that fails leaves the exchange alone.
        return None
    anchor = f"{target.link}:{target.ordinal}#{target.attempt}"
    decision = Decision(
        rule.operator,
        rule.name,
        entry.site.value,
        slot,
        anchor,
        None,
        rule.severity,
        draw,
        entry.recovery.value,
    )
    return decision, settings, f"{result.note} {why_solvable(entry, plan.bounds)}"
