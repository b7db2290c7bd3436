"""The dose: what noise sessions were assigned, had places for, and met. Whatever reports noise says so in
these words.

A session is *assigned* an arm, a noise type and a level. A *place* is an occasion of a rule: an item of its
operator's site that the rule's `where` lets through; a session with one is *eligible*. At a place the
operator *decides* on noise, or lets it be. What is decided is *injected* or *withheld*. A session in which
noise of its type was injected is *exposed*.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from crosswind.injectors.conversation import Item, Site, ToolSchema
from crosswind.injectors.engine.counters import in_scope
from crosswind.injectors.engine.plan import CLEAN, NOISY, Plan
from crosswind.injectors.engine.tools import is_tool_in_scope


class Exposure(StrEnum):
    """How far the noise that a session was assigned got."""

    ASSIGNED = "assigned"
    """There was no place for it."""
    ELIGIBLE = "eligible"
    """There were places, and nothing was decided at any of them."""
    WITHHELD = "withheld"
    """All that was decided was withheld."""
    EXPOSED = "exposed"
    """At least once it was injected."""


@dataclass(frozen=True, slots=True)
class OperatorDose:
    """One operator's noise, in one session or in many."""

    assigned: int = 0
    """Sessions with a rule for it."""
    eligible: int | None = 0
    """Places; None: they weren't counted."""
    injected: int = 0
    withheld: int = 0
    exposed: int = 0
    """Sessions in which it was injected."""

    @property
    def decided(self) -> int:
        return self.injected + self.withheld

    @property
    def exposure_rate(self) -> float | None:
        """The share of the sessions with a rule for it in which it was injected; None where none has one."""
        return self.exposed / self.assigned if self.assigned else None

    def __add__(self, other: OperatorDose) -> OperatorDose:
        unknown = self.eligible is None or other.eligible is None
        return OperatorDose(
            self.assigned + other.assigned,
            None if unknown else (self.eligible or 0) + (other.eligible or 0),
            self.injected + other.injected,
            self.withheld + other.withheld,
            self.exposed + other.exposed,
        )

    def to_json(self) -> dict[str, int | None]:
        return {
            "assigned": self.assigned,
            "eligible": self.eligible,
            "decided": self.decided,
            "injected": self.injected,
            "withheld": self.withheld,
            "exposed": self.exposed,
        }


Doses = Mapping[str, OperatorDose]
"""By operator."""


@dataclass(frozen=True, slots=True)
class SessionDose:
    """What one session was assigned, and what became of it."""

    arm: str
    noise_type: str | None = None
    level: int | None = None
    operators: Doses = field(default_factory=dict)
    allowed_types: tuple[str, ...] | None = None
    """The types that its first request allowed, of which its own was drawn; None: it is as assigned."""

    @property
    def exposure(self) -> Exposure | None:
        """How far its noise got: that of its type, or of any operator where it has no one type. None: it was
        assigned the clean arm, or no rule.
        """
        if self.arm != NOISY or not self.operators:
            return None
        own = self.operators
        if self.noise_type is not None:
            own = {name: dose for name, dose in own.items() if name == self.noise_type}
        if any(dose.injected for dose in own.values()):
            return Exposure.EXPOSED
        if any(dose.withheld for dose in own.values()):
            return Exposure.WITHHELD
        return Exposure.ELIGIBLE if any(dose.eligible for dose in own.values()) else Exposure.ASSIGNED

    @property
    def exposed(self) -> bool:
        return self.exposure is Exposure.EXPOSED

    def to_json(self) -> dict[str, Any]:
        return {
            "arm": self.arm,
            "noise_type": self.noise_type,
            "level": self.level,
            "allowed_types": self.allowed_types,
            "exposure": self.exposure,
            "operators": {name: dose.to_json() for name, dose in self.operators.items()},
        }


CALM = SessionDose(CLEAN)


Places = Mapping[str, int | None]
"""How many places there were, by a rule's name or an operator's; None: it isn't known."""


def find_places(
    plan: Plan, items: Sequence[Item], tools: Sequence[ToolSchema], exchanges: int
) -> dict[str, int]:
    """The places of a plan's rules in a conversation: among its texts, its declared tools, its exchanges."""
    found: dict[str, int] = {}
    for site, rules in plan.rules_by_site.items():
        for name, active in rules.items():
            if site in (Site.TRANSPORT, Site.MODEL_RESPONSE):
                found[name] = exchanges
            elif site is Site.TOOL_SCHEMA:
                found[name] = sum(is_tool_in_scope(active.rule, tool) for tool in tools)
            else:
                own = [item for item in items if item.site is site]
                found[name] = sum(in_scope(active.rule, item) for item in own) if active.scoped else len(own)
    return found


def measure_dose(plan: Plan, decided: Iterable[tuple[str, bool]], places: Places) -> SessionDose:
    """The dose of a session: `decided` gives for each event its operator, and whether it was injected."""
    eligible: dict[str, int | None] = {}
    for rule in plan.rules:
        add_places(eligible, rule.operator, places.get(rule.name))
    operators = count_doses(eligible, decided)
    return SessionDose(plan.arm, plan.noise_type, plan.level, operators, plan.allowed_types)


def add_places(eligible: dict[str, int | None], operator: str, places: int | None) -> None:
    """Add a rule's places to its operator's; unknown where those of one of its rules are."""
    before = eligible.get(operator, 0)
    eligible[operator] = None if places is None or before is None else before + places


def count_doses(eligible: Places, decided: Iterable[tuple[str, bool]]) -> dict[str, OperatorDose]:
    """The doses of one session, by the places of its plan's operators and by what was decided."""
    injected, withheld = Counter[str](), Counter[str]()
    for operator, acted in decided:
        (injected if acted else withheld)[operator] += 1
    found = {}
    for name in dict.fromkeys([*eligible, *injected, *withheld]):
        places = eligible.get(name)
        if places is not None and places < injected[name] + withheld[name]:
            places = None  # Several decisions fell on one place, as on the events of one call's stream.
        found[name] = OperatorDose(1, places, injected[name], withheld[name], int(injected[name] > 0))
    return found


def add_doses(doses: Iterable[Doses]) -> dict[str, OperatorDose]:
    """The doses of many sessions, by operator."""
    found: dict[str, OperatorDose] = {}
    for each in doses:
        for name, dose in each.items():
            found[name] = found.get(name, OperatorDose()) + dose
    return dict(sorted(found.items()))
