"""The dose: what noise sessions were assigned, had places for, and met. Whatever reports noise says so in
these words.

A session is *assigned* an arm, a noise type and a level. A *place* is an occasion of a rule: an item of its
operator's site that the rule's `where` lets through; a session with one is *eligible*. At a place the
operator *decides* on noise, or lets it be. What is decided is *injected* or *withheld*. A session in which
noise of its type was injected is *exposed*.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from crosswind.injectors.conversation import Site
from crosswind.injectors.engine.plan import CLEAN, NOISY, Plan


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

    @property
    def exposure(self) -> Exposure | None:
        """How far its noise got: that of its type, or of any operator where it has no one type. None: it was
        assigned the clean arm.
        """
        if self.arm != NOISY:
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
            "exposure": self.exposure,
            "operators": {name: dose.to_json() for name, dose in self.operators.items()},
        }


CALM = SessionDose(CLEAN)


def measure_dose(
    plan: Plan, decided: Iterable[tuple[str, bool]], places: Mapping[Site, int] | None = None
) -> SessionDose:
    """The dose of a session: `decided` gives for each event its operator, and whether it was injected;
    `places` counts the items of each site, where they were counted.

    The places of rules that pick among the items of their site aren't known from such counts.
    """
    injected, withheld = Counter[str](), Counter[str]()
    for operator, acted in decided:
        (injected if acted else withheld)[operator] += 1
    eligible: dict[str, int | None] = {}
    for site, rules in plan.rules_by_site.items():
        for active in rules.values():
            known = None if places is None or active.scoped else places.get(site, 0)
            before = eligible.get(active.rule.operator, 0)
            eligible[active.rule.operator] = None if known is None or before is None else before + known
    # An operator that is no longer installed has no site, and what it did stays on record.
    names = dict.fromkeys([*(rule.operator for rule in plan.rules), *injected, *withheld])
    return SessionDose(
        plan.arm,
        plan.noise_type,
        plan.level,
        {
            name: OperatorDose(1, eligible.get(name), injected[name], withheld[name], int(injected[name] > 0))
            for name in names
        },
    )


def add_doses(doses: Iterable[Doses]) -> dict[str, OperatorDose]:
    """The doses of many sessions, by operator."""
    found: dict[str, OperatorDose] = {}
    for each in doses:
        for name, dose in each.items():
            found[name] = found.get(name, OperatorDose()) + dose
    return dict(sorted(found.items()))
