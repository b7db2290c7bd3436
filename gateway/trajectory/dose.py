"""The dose of a recorded session: what noise it was assigned, had places for, and met."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from crosswind.gateway.trajectory.ledger_rows import Shown
from crosswind.gateway.trajectory.record import Session, Trajectory
from crosswind.injectors.conversation import Site
from crosswind.injectors.engine.dose import OperatorDose, SessionDose, measure_dose
from crosswind.injectors.engine.plan import Plan

_TEXTS = {Site.USER_TEXT, Site.TOOL_RESULT, Site.INSTRUCTIONS}
_LINK = (Site.TRANSPORT.value, Site.MODEL_RESPONSE.value)


class _Decided(msgspec.Struct):
    """Of a list of tools on record, the tools that were decided on."""

    decided: list[str] = []


def count_places(shown: Iterable[Shown], turns: int) -> Mapping[str, int]:
    """The items of each site that noise was decided on: of the ledger's rows, and of so many exchanges.

    Tools are missing where the ledger's texts were erased.
    """
    places: Counter[str] = Counter()
    tools = 0
    for row in shown:
        if row.site in _TEXTS:
            places[row.site] += 1
        elif row.site == Site.TOOL_SCHEMA and row.text is not None:
            tools = max(tools, len(msgspec.json.decode(row.text, type=_Decided).decided))
    return {**places, Site.TOOL_SCHEMA.value: tools, **dict.fromkeys(_LINK, turns)}


def read_dose(trajectory: Trajectory) -> SessionDose:
    """The dose of a session, from all of its events: of texts, tools, the link and the provider."""
    decided = [(one.operator, one.after is not None) for one in trajectory.events if one.slot]
    places = trajectory.places
    sites = None if places is None else {Site(name): count for name, count in places.items()}
    try:
        plan = Plan.from_json(trajectory.session.plan)
    except ValueError:
        return _without_plan(trajectory.session, decided)
    return measure_dose(plan, decided, sites)


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
