"""The dose of a recorded session: what noise it was assigned, had places for, and met."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from crosswind.gateway.trajectory.decided_items import count_items
from crosswind.gateway.trajectory.record import Arm, Event, Session, Trajectory
from crosswind.gateway.trajectory.store import Store
from crosswind.injectors import registry
from crosswind.injectors.engine.dose import SessionDose, add_places, count_doses


def read_dose(trajectory: Trajectory) -> SessionDose:
    """The dose of a session, from all of its events: of texts, tools, the link and the provider."""
    return describe_dose(trajectory.session, trajectory.events, trajectory.items)


def measure(store: Store, session: Session) -> SessionDose:
    """The dose of a session of a store; its bodies aren't read."""
    items, events = None, store.events(session.id)
    if session.arm is Arm.NOISY:
        items = count_items(store.ledger(session.id), len(store.turns_since(session.id, 0)), events)
    return describe_dose(session, events, items)


def describe_dose(session: Session, events: Iterable[Event], items: Mapping[str, int] | None) -> SessionDose:
    """The dose of a session with these events. `items` counts those of each site, where they were counted."""
    return describe_decided(
        session, [(one.operator, one.after is not None) for one in events if one.slot], items
    )


def describe_decided(
    session: Session, decided: Sequence[tuple[str, bool]], items: Mapping[str, int] | None
) -> SessionDose:
    """The same, by what was decided: each time the operator, and whether it was injected."""
    plan, known = session.plan, registry.operators()
    eligible: dict[str, int | None] = {}
    # As JSON: a plan is read for each session of a report, and of an older version, too.
    for rule in plan.get("rules", ()):
        entry = known.get(rule["operator"])
        scoped = any(rule.get(name) for name in ("tools", "text", "observation"))
        places = None if items is None or entry is None or scoped else items.get(entry.site)
        add_places(eligible, rule["operator"], places)
    allowed = plan.get("allowed_types")
    return SessionDose(
        session.arm.value,
        plan.get("noise_type"),
        plan.get("level"),
        count_doses(eligible, decided),
        None if allowed is None else tuple(allowed),
    )
