"""How good a candidate is: how seldom the agent succeeds under it, and the dose of noise that it takes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from math import inf
from statistics import fmean
from typing import Any

from crosswind.gateway.trajectory.record import Event
from crosswind.gateway.trajectory.store import iterate_sessions, open_store


@dataclass(frozen=True, slots=True)
class MeasuredDose:
    """How much noise a session met, on average. Withheld injections don't count: nobody met them."""

    injections: float
    severity: float
    """The severities of these injections, added up."""
    added: float
    """Characters that they added to what the agent read."""

    def excess(self, cap: MeasuredDose) -> float:
        """By which share of the cap the worst of the three lies above it; 0 where none does."""
        caps = asdict(cap)
        return max(_over(value, caps[name]) for name, value in asdict(self).items())


def _over(value: float, cap: float) -> float:
    if value <= cap:
        return 0.0
    return value / cap - 1 if cap > 0 else inf


@dataclass(frozen=True, slots=True)
class CandidateFitness:
    """What was measured of a candidate on so many sessions."""

    success: float
    sessions: int
    dose: MeasuredDose

    def rank(self, cap: MeasuredDose) -> tuple[float, float]:
        """What is smaller is better: a dose within the cap first, then the agent's success (the constraint
        and the objective of AgentNoiseBench's eq. 1; what is solvable the guard sees to)."""
        return self.dose.excess(cap), self.success

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> CandidateFitness:
        return CandidateFitness(data["success"], data["sessions"], MeasuredDose(**data["dose"]))


def pool(parts: list[CandidateFitness]) -> CandidateFitness:
    """Several measurements of one candidate as one, each by its number of sessions."""
    weights = [part.sessions for part in parts]
    doses = zip(*(asdict(part.dose).values() for part in parts), strict=True)
    dose = MeasuredDose(*(fmean(values, weights) for values in doses))
    return CandidateFitness(fmean([part.success for part in parts], weights), sum(weights), dose)


def read_doses(store_url: str, run: str) -> dict[str, MeasuredDose]:
    """The mean dose of the run's noisy sessions, by their profile. `run` is their label of that name."""
    doses: defaultdict[str, list[tuple[float, float, float]]] = defaultdict(list)
    with closing(open_store(store_url)) as store:
        for session in iterate_sessions(store, label={"run": run}):
            if session.arm == "noisy":
                doses[str(session.plan["profile"])].append(_count_dose(store.events(session.id)))
    return {profile: MeasuredDose(*map(fmean, zip(*met, strict=True))) for profile, met in doses.items()}


def _count_dose(events: Iterable[Event]) -> tuple[float, float, float]:
    shown = [event for event in events if event.after is not None]
    added = sum(max(0, len(event.after or "") - len(event.before)) for event in shown)
    return float(len(shown)), sum(event.severity for event in shown), float(added)
