"""How good a candidate is: what it costs the agent at the dose of the hand-made profile."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from math import inf
from statistics import fmean
from typing import Any

from crosswind.gateway.trajectory.dose import describe_dose
from crosswind.gateway.trajectory.record import Event, Session
from crosswind.gateway.trajectory.store import iterate_sessions, open_store
from crosswind.injectors.engine.plan import CLEAN
from crosswind.injectors.packs.draw import without_version
from crosswind.studies.evolve.detectability import LIMITS, Detectability


@dataclass(frozen=True, slots=True)
class MeasuredDose:
    """How much noise a session met, on average. Withheld injections don't count: nobody met them. What is
    compared are exposed sessions and injections; the rest is told beside."""

    exposed: float
    """Whether it was exposed: it met noise of its type at least once."""
    injections: float
    severity: float
    """The severities of these injections, added up."""
    added: float
    """Characters that they added to what the agent read."""

    def ratio(self, cap: MeasuredDose) -> float:
        """How many times the cap it is, in exposed sessions or in injections, whichever is more."""
        return max(_divide(self.exposed, cap.exposed), _divide(self.injections, cap.injections))

    @staticmethod
    def mean(doses: Sequence[MeasuredDose], weights: Sequence[float] | None = None) -> MeasuredDose:
        parts = zip(*(asdict(dose).values() for dose in doses), strict=True)
        return MeasuredDose(*(fmean(values, weights) for values in parts))


def _divide(value: float, cap: float) -> float:
    if cap > 0:
        return value / cap
    return inf if value > 0 else 0.0


@dataclass(frozen=True, slots=True)
class PlayedSession:
    """What one session of a task came to."""

    task: str
    reward: float
    dose: MeasuredDose
    entries: frozenset[str] = frozenset()
    """The pack entries that it met."""


@dataclass(frozen=True, slots=True)
class EntryCount:
    """Of the sessions that met a pack entry: all, and those that failed."""

    met: int = 0
    failed: float = 0.0

    def __add__(self, other: EntryCount) -> EntryCount:
        return EntryCount(self.met + other.met, self.failed + other.failed)


@dataclass(frozen=True, slots=True)
class CandidateFitness:
    """What was measured of a candidate on so many sessions: none where it was refused, since noise that is
    told as easily isn't played."""

    success: float
    sessions: int
    dose: MeasuredDose
    detected: Detectability | None = None
    entries: Mapping[str, EntryCount] = field(default_factory=dict)

    @property
    def refused(self) -> bool:
        return self.sessions == 0

    @staticmethod
    def of(played: Sequence[PlayedSession], detected: Detectability | None = None) -> CandidateFitness:
        entries: dict[str, EntryCount] = {}
        for one in played:
            for name in sorted(one.entries):
                entries[name] = entries.get(name, EntryCount()) + EntryCount(1, 1 - one.reward)
        dose = MeasuredDose.mean([one.dose for one in played])
        return CandidateFitness(fmean(one.reward for one in played), len(played), dose, detected, entries)

    @staticmethod
    def refuse(detected: Detectability) -> CandidateFitness:
        return CandidateFitness(1.0, 0, NO_DOSE, detected)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> CandidateFitness:
        detected = data["detected"]
        return CandidateFitness(
            data["success"],
            data["sessions"],
            MeasuredDose(**data["dose"]),
            None if detected is None else Detectability.from_json(detected),
            {name: EntryCount(**one) for name, one in data["entries"].items()},
        )


NO_DOSE = MeasuredDose(0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Baseline:
    """The agent without noise, and under the profile that candidates are held against."""

    calm: float
    hand_made: CandidateFitness
    limits: Detectability = LIMITS

    def coverage(self, one: CandidateFitness) -> float:
        """The share of sessions that may get a candidate's noise, so that its dose isn't above the hand-made
        one."""
        ratio = one.dose.ratio(self.hand_made.dose)
        return 1.0 if ratio <= 1 else 1 / ratio

    def success_at_dose(self, one: CandidateFitness) -> float:
        """The agent's success where just that share gets it."""
        return self.calm - (self.calm - one.success) * self.coverage(one)

    def rank(self, one: CandidateFitness) -> tuple[bool, float]:
        """What is smaller is better: the constraint and the objective of AgentNoiseBench's eq. 1; what is
        solvable the guard sees to. Of what is refused, that which is told the least."""
        if one.refused and one.detected is not None:
            return True, one.detected.overshoot(self.limits)
        return False, self.success_at_dose(one)


def pool(parts: Sequence[CandidateFitness]) -> CandidateFitness:
    """Several measurements of one candidate as one, each by its number of sessions."""
    weights = [part.sessions for part in parts]
    success = fmean([part.success for part in parts], weights)
    dose = MeasuredDose.mean([part.dose for part in parts], weights)
    return CandidateFitness(success, sum(weights), dose, parts[0].detected)


def read_sessions(store_url: str, run: str) -> dict[str, list[PlayedSession]]:
    """The run's sessions that have a reward, by their profile, `clean` without noise. `run` is their label of
    that name."""
    found: dict[str, list[PlayedSession]] = {}
    with closing(open_store(store_url)) as store:
        for session in iterate_sessions(store, label={"run": run}):
            if session.reward is not None:
                name = CLEAN if session.arm == CLEAN else str(session.plan["profile"])
                found.setdefault(name, []).append(_read_session(session, store.events(session.id)))
    return found


def _read_session(session: Session, events: Iterable[Event]) -> PlayedSession:
    shown = [event for event in events if event.after is not None]
    dose = MeasuredDose(
        float(describe_dose(session, shown, None).exposed),
        float(len(shown)),
        sum(event.severity for event in shown),
        float(sum(max(0, len(event.after or "") - len(event.before)) for event in shown)),
    )
    entries = {without_version(name) for event in shown for name in event.draw.get("phrases", ())}
    return PlayedSession(session.task_id or session.id, session.reward or 0.0, dose, frozenset(entries))
