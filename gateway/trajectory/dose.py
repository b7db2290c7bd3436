"""The dose of a recorded session: what noise it was assigned, had places for, and met."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from crosswind.gateway.trajectory.ledger_rows import Shown
from crosswind.gateway.trajectory.record import Arm, Event, Session, Trajectory
from crosswind.gateway.trajectory.store import Store
from crosswind.injectors.conversation import Site
from crosswind.injectors.engine.dose import OperatorDose, SessionDose, count_places, measure_dose
from crosswind.injectors.engine.plan import Plan

_TEXTS = (Site.USER_TEXT.value, Site.TOOL_RESULT.value, Site.INSTRUCTIONS.value)
_LINK = (Site.TRANSPORT.value, Site.MODEL_RESPONSE.value)


class _Decided(msgspec.Struct):
    """Of a list of tools on record, the tools that were decided on."""

    decided: list[str] = []


def count_items(shown: Iterable[Shown], turns: int) -> Mapping[str, int]:
    """The items of each site that noise was decided on: of the ledger's rows, and of so many exchanges.

    Tools are missing where the ledger's texts were erased.
    """
    texts: Counter[str] = Counter(dict.fromkeys(_TEXTS, 0))
    tools: int | None = 0
    for row in shown:
        if row.site in texts:
            texts[row.site] += 1
        elif row.site == Site.TOOL_SCHEMA:
            # Each row names all tools that were decided on up to then.
            tools = None if row.text is None else len(msgspec.json.decode(row.text, type=_Decided).decided)
    known = {} if tools is None else {Site.TOOL_SCHEMA.value: tools}
    return {**texts, **known, **dict.fromkeys(_LINK, turns)}


def read_dose(trajectory: Trajectory) -> SessionDose:
    """The dose of a session, from all of its events: of texts, tools, the link and the provider."""
    return describe_dose(trajectory.session, trajectory.events, trajectory.items)


def measure(store: Store, session: Session) -> SessionDose:
    """The dose of a session of a store; its bodies aren't read."""
    items = None
    if session.arm is Arm.NOISY:
        items = count_items(store.ledger(session.id), len(store.turns_since(session.id, 0)))
    return describe_dose(session, store.events(session.id), items)


def describe_dose(session: Session, events: Iterable[Event], items: Mapping[str, int] | None) -> SessionDose:
    """The dose of a session with these events. `items` counts those of each site, where they were counted."""
    return describe_decided(
        session, [(one.operator, one.after is not None) for one in events if one.slot], items
    )


def describe_decided(
    session: Session, decided: Sequence[tuple[str, bool]], items: Mapping[str, int] | None
) -> SessionDose:
    """The same, by what was decided: each time the operator, and whether it was injected."""
    try:
        plan = Plan.from_json(session.plan)
    except ValueError:
        return _without_plan(session, decided)
    return measure_dose(plan, decided, {} if items is None else count_places(plan, items))


def _without_plan(session: Session, decided: Iterable[tuple[str, bool]]) -> SessionDose:
    """Of a session whose plan is of no known form: by its events and its row alone."""
    operators: dict[str, OperatorDose] = {}
    for name, acted in decided:
        before = operators.get(name, OperatorDose(1, None))
        one = OperatorDose(0, None, int(acted), int(not acted), int(acted and not before.exposed))
        operators[name] = before + one
    noise_type, level = session.plan.get("noise_type"), session.plan.get("level")
    return SessionDose(
        session.arm.value,
        noise_type if isinstance(noise_type, str) else None,
        level if isinstance(level, int) else None,
        operators,
    )
