"""The dose of a recorded session: what noise it was assigned, had places for, and met."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from crosswind.gateway.trajectory.ledger_rows import Shown
from crosswind.gateway.trajectory.record import Arm, Event, Session, Trajectory
from crosswind.gateway.trajectory.store import Store
from crosswind.gateway.trajectory.timeline import is_on_wire
from crosswind.injectors import registry
from crosswind.injectors.conversation import Site
from crosswind.injectors.engine.dose import SessionDose, add_places, count_doses

_TEXTS = (Site.USER_TEXT.value, Site.TOOL_RESULT.value, Site.INSTRUCTIONS.value)


class _Decided(msgspec.Struct):
    """Of a list of tools on record, the tools that were decided on."""

    decided: list[str] = []


def count_items(shown: Iterable[Shown], turns: int, events: Iterable[Event]) -> Mapping[str, int]:
    """The items of each site that noise was decided on: of the ledger's rows, of so many turns, and of the
    calls on tool legs among the events.

    Tools are missing where the ledger's texts were erased.
    """
    calls = sum(map(_is_call, events))
    texts: Counter[str] = Counter(dict.fromkeys(_TEXTS, 0))
    tools: int | None = 0
    for row in shown:
        if row.site in texts:
            texts[row.site] += 1
        elif row.site == Site.TOOL_SCHEMA:
            # Each row names all tools that were decided on up to then.
            tools = None if row.text is None else len(msgspec.json.decode(row.text, type=_Decided).decided)
    known = {} if tools is None else {Site.TOOL_SCHEMA.value: tools}
    # Turns report most results of a tool leg's calls, so that the ledger has rows for both.
    texts[Site.TOOL_RESULT.value] = max(texts[Site.TOOL_RESULT.value], calls)
    return {**texts, **known, Site.MODEL_RESPONSE.value: turns, Site.TRANSPORT.value: turns + calls}


def _is_call(event: Event) -> bool:
    """Whether an event says what became of a call on a tool leg, which a server was to get."""
    return is_on_wire(event) and not event.slot and event.draw.get("outcome") != "inside"


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
