"""What a checker of a guarantee is, and the registry of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from crosswind.gateway.trajectory.record import Event
from crosswind.studies.audit.reading import AuditedSession


@dataclass(frozen=True, slots=True)
class Breach:
    """Where a guarantee was broken. `event` is the event's place in its turn; None: no event says of it."""

    guarantee: str
    session: str
    turn: int
    event: int | None
    operator: str
    what: str


Found = Iterator[tuple[Event | None, int, str]]
"""The event, its turn, and what is wrong."""
Checker = Callable[[AuditedSession], Found]
_checkers: dict[str, Checker] = {}


def guarantee(name: str) -> Callable[[Checker], Checker]:
    """Register a checker under the guarantee's name."""

    def register(check: Checker) -> Checker:
        _checkers[name] = check
        return check

    return register


def guarantees() -> Mapping[str, str]:
    """The guarantees by name, each with what it says."""
    return {name: (check.__doc__ or "").strip() for name, check in _checkers.items()}


def find_breaches(audited: AuditedSession) -> Iterator[Breach]:
    """Every place where a guarantee was broken in the session, each once."""
    for name, check in _checkers.items():
        told: set[object] = set()
        for event, turn, what in check(audited):
            place = (turn, what) if event is None else (event.turn_index, event.attempt, event.ordinal, what)
            if place in told:
                continue
            told.add(place)
            ordinal, operator = (None, "") if event is None else (event.ordinal, event.operator)
            yield Breach(name, audited.session.id, turn, ordinal, operator, what)
