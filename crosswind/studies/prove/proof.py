"""The proof of solvability: an oracle's episodes under every noise, counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from crosswind.studies.prove.cases import SEVERITIES, STAGES, Catalogue
from crosswind.studies.prove.episodes import EpisodeOutcome

TOOK_PLACE, WITHDRAWN, BOUNDED = "took place", "withdrawn", "bounded"


@dataclass(slots=True)
class Account:
    """Counts of injections."""

    took_place: int = 0
    withdrawn: int = 0
    """The guard couldn't vouch for them."""
    bounded: int = 0
    """Their call had met as many faults as it may: it returned the truth, as planned."""

    @property
    def rate(self) -> float:
        """The withdrawn share of those that were to take place; 0 where there were none."""
        planned = self.took_place + self.withdrawn
        return self.withdrawn / planned if planned else 0.0

    def add(self, fate: str) -> None:
        """Count one."""
        self.took_place += fate == TOOK_PLACE
        self.withdrawn += fate == WITHDRAWN
        self.bounded += fate == BOUNDED


def injection_fates(
    events: Sequence[Mapping[str, Any]], bounds: Mapping[str, Any]
) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Each event of a session with what became of it, in their order. `bounds` are the plan's."""
    destroyed: Counter[str] = Counter()
    for event in events:
        call = event["logical_call"] or ""
        if event["after"] is not None:
            if call and event["recovery"] == "retry":
                destroyed[call] += 1
            yield event, TOOK_PLACE
        elif call and (
            destroyed[call] >= bounds["faults_per_call"] or destroyed.total() >= bounds["faults_per_session"]
        ):
            yield event, BOUNDED
        else:
            yield event, WITHDRAWN


MOST_WITHDRAWN = 0.1
"""The share of an operator's injections, at one severity, that the guard may withdraw."""


@dataclass(slots=True)
class Row:
    """Episodes of one kind."""

    played: int = 0
    solved: int = 0
    account: Account = field(default_factory=Account)

    def __add__(self, other: Row) -> Row:
        mine, yours = self.account, other.account
        account = Account(
            mine.took_place + yours.took_place, mine.withdrawn + yours.withdrawn, mine.bounded + yours.bounded
        )
        return Row(self.played + other.played, self.solved + other.solved, account)


@dataclass(slots=True)
class Proof:
    """All counts. `profiles` are keyed by name, severity and stage (None: as written), `operators` by name
    and severity."""

    catalogue: Catalogue
    profiles: dict[tuple[str, float | None, str | None], Row] = field(default_factory=dict)
    operators: dict[tuple[str, float], Row] = field(default_factory=dict)
    unsolved: list[str] = field(default_factory=list)

    def count(self, outcome: EpisodeOutcome) -> None:
        """Count one episode."""
        case = outcome.case
        if case.subject in self.catalogue.operators:
            assert case.severity is not None
            row = self.operators.setdefault((case.subject, case.severity), Row())
        else:
            row = self.profiles.setdefault((case.subject, case.severity, case.stage), Row())
        row.played += 1
        row.solved += outcome.solved
        for event, fate in injection_fates(outcome.events, outcome.record.plan["bounds"]):
            # A profile's other rules are counted with their operators, alone.
            if case.subject in (event["operator"], *self.catalogue.profiles):
                row.account.add(fate)
        if not outcome.solved:
            record = outcome.record
            self.unsolved.append(
                f"{case.profile} (level {case.level}), {record.job.task.id}, session {record.session_id}: "
                f"{record.error or dict(record.verdict.components if record.verdict else {})}"
            )

    @property
    def played(self) -> int:
        return sum(row.played for row in (*self.profiles.values(), *self.operators.values()))

    def of_profile(self, name: str, *, severity: float | None = None, stage: str | None = None) -> Row:
        """A profile's row: as written, or, with a severity or a stage, over all of the other."""
        if severity is None and stage is None:
            return self.profiles.get((name, None, None), Row())
        severities = SEVERITIES if severity is None else (severity,)
        stages = STAGES if stage is None else (stage,)
        found = [self.profiles.get((name, one, other), Row()) for one in severities for other in stages]
        return sum(found, Row())

    def find_problems(self) -> Iterator[str]:
        """What speaks against solvability, or against the noise having been there."""
        for one in self.unsolved:
            yield f"unsolved: {one}"
        for (name, severity), row in sorted(self.operators.items()):
            if row.account.rate > MOST_WITHDRAWN:
                yield f"{name} at {severity:g}: {row.account.rate:.0%} of its injections were withdrawn"
        for name in sorted({name for name, _ in self.operators}):
            if not any(row.account.took_place for (own, _), row in self.operators.items() if own == name):
                yield f"{name}: no injection took place"
        for name in sorted({name for name, _, _ in self.profiles}):
            rows = [row for (own, _, _), row in self.profiles.items() if own == name]
            if self.catalogue.profiles[name]["rules"] and not any(row.account.took_place for row in rows):
                yield f"{name}: no injection took place"
