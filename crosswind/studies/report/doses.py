"""The dose of a store's sessions: what noise they were assigned, had places for, and met."""

from __future__ import annotations

from collections.abc import Mapping

from crosswind.gateway.trajectory.decided_items import count_items
from crosswind.gateway.trajectory.dose import describe_decided
from crosswind.gateway.trajectory.record import Arm
from crosswind.gateway.trajectory.store import Store, iterate_sessions
from crosswind.injectors.engine.dose import SessionDose, add_doses
from crosswind.studies.report.report_table import ReportTable

SESSIONS_COUNTED = 2000
"""A store with more noisy sessions than this shows no places: their ledgers would take too long to read."""


def read_doses(store: Store) -> dict[str, SessionDose]:
    """The doses of all sessions, by id."""
    sessions = {one.id: one for one in iterate_sessions(store)}
    noise = store.noise_by_session()
    counted = sum(one.arm is Arm.NOISY for one in sessions.values()) <= SESSIONS_COUNTED
    found: dict[str, SessionDose] = {}
    for session in sessions.values():
        items = None
        if counted and session.arm is Arm.NOISY:
            turns = len(store.turns_since(session.id, 0))
            items = count_items(store.ledger(session.id), turns, store.events(session.id))
        decided = [
            (operator, acted)
            for operator, (injected, withheld) in noise.get(session.id, {}).items()
            for acted in (*[True] * injected, *[False] * withheld)
        ]
        found[session.id] = describe_decided(session, decided, items)
    return found


def dose_table(doses: Mapping[str, SessionDose]) -> ReportTable:
    """A row for each operator that a session was assigned or met."""
    rows = [
        (
            name,
            f"{one.assigned:,}",
            "–" if one.eligible is None else f"{one.eligible:,}",
            f"{one.decided:,}",
            f"{one.injected:,}",
            f"{one.withheld:,}",
            f"{one.exposed:,}" + (f" ({one.exposure_rate:.0%})" if one.exposure_rate is not None else ""),
        )
        for name, one in add_doses(dose.operators for dose in doses.values()).items()
    ]
    return ReportTable(
        "Dose by operator",
        "Assigned: sessions with a rule for it. Eligible: places it could act at (–: not counted). Decided: "
        "where it did, injected or withheld. Withheld: it did not act, since the tool's class, the bounds or "
        "another guarantee forbade it; the events say why. Exposed: sessions in which it was injected.",
        ("operator", "assigned", "eligible", "decided", "injected", "withheld", "exposed"),
        rows,
    )
