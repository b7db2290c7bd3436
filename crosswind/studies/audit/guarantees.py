"""The guarantees, each with its checker, and what breaks them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from crosswind.studies.audit import accounts, observations, results, users
from crosswind.studies.audit.reading import AuditedSession, Found


@dataclass(frozen=True, slots=True)
class Breach:
    """Where a guarantee was broken. `event` is the event's place in its turn; None: no event says of it."""

    guarantee: str
    session: str
    turn: int
    event: int | None
    operator: str
    what: str


GUARANTEES: Mapping[str, Callable[[AuditedSession], Found]] = {
    "accounted": accounts.check_account,
    "dose caps": accounts.check_dose_caps,
    "true tools": accounts.check_true_tools,
    "observations": observations.check_observations,
    "forced success": results.check_forced_success,
    "true value": results.check_true_value,
    "detectable": results.check_detectable,
    "tool classes": results.check_tool_classes,
    "protected entities": users.check_entities,
    "contradictions settled": users.check_contradictions,
    "doubts settled": users.check_doubts,
}
"""The checkers' docstrings say what they guarantee."""


def find_breaches(audited: AuditedSession) -> Iterator[Breach]:
    """Every place where a guarantee was broken in the session, each once."""
    for name, check in GUARANTEES.items():
        told: set[object] = set()
        for event, turn, what in check(audited):
            place = (turn, what) if event is None else (event.turn_index, event.attempt, event.ordinal, what)
            if place in told:
                continue
            told.add(place)
            ordinal, operator = (None, "") if event is None else (event.ordinal, event.operator)
            yield Breach(name, audited.session.id, turn, ordinal, operator, what)
