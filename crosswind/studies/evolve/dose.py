"""How much noise the sessions of a run met: counted from the events in the store."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from crosswind.gateway.trajectory.record import Event
from crosswind.gateway.trajectory.store import open_store
from crosswind.studies.evolve.fitness import Dose

PAGE = 500


def doses(store_url: str, run: str) -> dict[str, Dose]:
    """The mean dose of the run's noisy sessions, by their profile. `run` is their label of that name."""
    totals: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0, 0.0])
    store = open_store(store_url)
    try:
        offset = 0
        while page := store.sessions(label={"run": run}, limit=PAGE, offset=offset):
            offset += len(page)
            for session in page:
                if session.arm == "noisy":
                    met = _met(store.events(session.id))
                    total = totals[str(session.plan["profile"])]
                    total[:] = [sum(pair) for pair in zip(total, (1.0, *met), strict=True)]
    finally:
        store.close()
    return {profile: Dose(*(part / count for part in met)) for profile, (count, *met) in totals.items()}


def _met(events: Iterable[Event]) -> tuple[float, float, float]:
    shown = [event for event in events if event.after is not None]
    added = sum(max(0, len(event.after or "") - len(event.before)) for event in shown)
    return float(len(shown)), sum(event.severity for event in shown), float(added)
