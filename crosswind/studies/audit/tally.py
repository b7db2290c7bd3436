"""The audit's figures over a whole store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from crosswind.gateway.trajectory.record import Event
from crosswind.gateway.trajectory.store import Store, iterate_sessions
from crosswind.studies.audit import results
from crosswind.studies.audit.guarantees import GUARANTEES, Breach, find_breaches
from crosswind.studies.audit.reading import AuditedSession, read_session
from crosswind.studies.audit.tools import REPEATABLE


@dataclass(slots=True)
class ToolClassCounts:
    """Results of tools of one class: how many there were, got noise, and were destroyed."""

    results: int = 0
    injected: int = 0
    destroyed: int = 0


@dataclass(slots=True)
class Tally:
    """What an audit found."""

    sessions: int = 0
    noisy: int = 0
    audited: int = 0
    held: int = 0
    breaches: list[Breach] = field(default_factory=list)
    not_audited: Counter[str] = field(default_factory=Counter)
    """Noisy sessions that could not be, by the reason."""
    classes: dict[str, ToolClassCounts] = field(default_factory=dict)
    operators: dict[tuple[str, float], list[int]] = field(default_factory=dict)
    """Injected and withheld, by operator and severity."""
    reasons: dict[str, Counter[str]] = field(default_factory=dict)
    """Why the guard withheld, by operator."""

    def add(self, audited: AuditedSession) -> None:
        """Audit one session, and count it."""
        self.sessions += 1
        noisy = bool(audited.plan.rules)
        self.noisy += noisy
        for event in audited.events:
            self._counts_of(event)[0] += 1
        for event in audited.withheld:
            self._counts_of(event)[1] += 1
            self.reasons.setdefault(event.operator, Counter())[event.note] += 1
        if audited.why_not is not None and noisy:
            self.not_audited[audited.why_not] += 1
            return
        found = list(find_breaches(audited))
        self.breaches += found
        if noisy:
            self.audited += 1
            self.held += not found
            self._count_results(audited)

    def _counts_of(self, event: Event) -> list[int]:
        return self.operators.setdefault((event.operator, event.severity), [0, 0])

    def _count_results(self, audited: AuditedSession) -> None:
        events = [*audited.events, *audited.withheld]
        classes = {tool: audited.plan.class_of(tool).value for tool, _ in audited.results()}
        classes |= {one.tool: one.tool_class for one in events if one.tool in classes and one.tool_class}
        for tool, piece in audited.results():
            kind = next((one.tool_class for one in piece.events if one.tool_class), None) or classes[tool]
            counted = self.classes.setdefault(kind, ToolClassCounts())
            counted.results += 1
            counted.injected += bool(piece.events)
            counted.destroyed += results.find_destroying_event(piece) is not None

    @property
    def destroyed_writes(self) -> int:
        """The results destroyed whose calls may not be repeated, as a profile assumed that they may."""
        return sum(one.destroyed for name, one in self.classes.items() if name not in REPEATABLE)

    def document(self) -> dict[str, Any]:
        """All of it as JSON data."""
        broken = Counter(one.guarantee for one in self.breaches)
        return {
            "sessions": self.sessions,
            "noisy": self.noisy,
            "audited": self.audited,
            "held": self.held,
            "share_held": self.held / self.audited if self.audited else None,
            "not_audited": dict(self.not_audited),
            "guarantees": {name: broken[name] for name in GUARANTEES},
            "tool_classes": {
                name: {**asdict(one), "share_injected": one.injected / one.results}
                for name, one in sorted(self.classes.items())
            },
            "destroyed_writes": self.destroyed_writes,
            "operators": [
                {
                    "operator": operator,
                    "severity": severity,
                    "injected": injected,
                    "withheld": withheld,
                    "share_withheld": withheld / (injected + withheld),
                }
                for (operator, severity), (injected, withheld) in sorted(self.operators.items())
            ],
            "reasons": {name: dict(why.most_common(3)) for name, why in sorted(self.reasons.items())},
            "breaches": [asdict(one) for one in self.breaches],
        }


def audit_store(store: Store, session_ids: Iterable[str] | None = None) -> Tally:
    """Audit these sessions, or all; one is in memory at a time. ValueError where a plan can't be read."""
    tally = Tally()
    ids = (session.id for session in iterate_sessions(store)) if session_ids is None else session_ids
    for session_id in dict.fromkeys(ids):
        trajectory = store.trajectory(session_id)
        if trajectory is not None:
            tally.add(read_session(trajectory))
    return tally
