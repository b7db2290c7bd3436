"""What of a write's answer may be false: how far it has come, and what it tells that wasn't asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence

from crosswind.injectors.operators.tool.facts import Fact, FactKind
from crosswind.injectors.operators.tool.false_values.ties import TIMES
from crosswind.injectors.operators.tool.false_values.values import (
    Alternatives,
    SpanEdit,
    draw_other,
    match_case,
)
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import ToolResultTarget


def draw_of_receipt(target: ToolResultTarget, facts: Sequence[Fact], rng: SeededRandom) -> SpanEdit | None:
    """Draw a false value of one such fact; None where there is none."""
    if (state := _draw_state(target, facts, rng)) is not None:
        return state
    alternatives = Alternatives(target, facts)
    for fact in rng.shuffled(_find_told(target, facts)):
        false = draw_other(fact, alternatives, rng)
        if false is not None and false != fact.text:
            return fact.replace(false)
    return None


def _find_told(target: ToolResultTarget, facts: Sequence[Fact]) -> list[Fact]:
    """What a write tells that wasn't asked for: when something is due, who carries it, where it is."""
    dated = _DATED.search(target.arguments) is not None
    times = sum(one.kind in TIMES for one in facts)
    return [
        one
        for one in facts
        if (one.kind in TIMES and times == 1 and not dated and not one.prose)
        or (one.kind is FactKind.WORD and not _TOLD.isdisjoint(one.words) and _SAID.isdisjoint(one.words))
    ]


_DATED = re.compile(r"\d{4}-\d\d|\d:\d\d|\d\d?[./]\d")
"""A date or a time in what was asked for."""
_TOLD = frozenset(
    """
    agent area carrier cabin category city color colour country courier currency department depot district
    driver hub language level location material operator origin owner place plan platform priority region room
    seat section sector size store team technician terminal tier warehouse weekday zone
    """.split()
)
"""Words of fields that an answer tells of itself."""
_SAID = frozenset("mode new state status to type".split())
"""Words of fields that say what was asked for."""

_SO_FAR = {
    **dict.fromkeys(("sent", "submitted", "created", "placed", "executed"), ("pending", "queued")),
    **dict.fromkeys(("completed", "complete", "filled", "accepted"), ("pending", "processing")),
    "approved": ("approval pending",),
    "booked": ("booking pending", "on hold"),
    "canceled": ("canceling", "cancellation pending"),
    "cancelled": ("cancelling", "cancellation pending"),
    "ordered": ("order pending", "processing"),
    "paid": ("payment pending", "processing"),
    "refunded": ("refund pending", "processing"),
    "registered": ("registration pending",),
    "reserved": ("reservation pending", "on hold"),
    "resolved": ("in progress", "on hold"),
    "transferred": ("transfer pending", "processing"),
}
"""How far what was asked for may have come instead. That it was asked for they say, too."""


def _draw_state(target: ToolResultTarget, facts: Sequence[Fact], rng: SeededRandom) -> SpanEdit | None:
    """A state that isn't reached yet, where nothing beside it says that it is."""
    for one in facts:
        said = one.text.lower()
        if one.prose or said not in _SO_FAR or one.words[-1:] not in (("status",), ("state",)):
            continue
        if target.text.lower().count(said) == 1:
            return one.replace(match_case(rng.choice(_SO_FAR[said]), one.text))
    return None
