"""The proof of solvability: an oracle's episodes under every noise, counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from crosswind.injectors.text.languages import UNABLE
from crosswind.studies.prove.cases import Case, Catalogue
from crosswind.studies.prove.episodes import EpisodeOutcome

TOOK_PLACE = "took place"
WITHHELD = "withheld"
"""The guard couldn't vouch for it."""
BOUNDED = "bounded"
"""Its call had met as many faults as it may: it returned the truth, as planned."""
LEFT_CLEAN = "left clean"
"""The operator itself said that it can do nothing there, so the guard had nothing to refuse."""


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
        elif UNABLE in event["draw"]:
            yield event, LEFT_CLEAN
        elif call and (
            destroyed[call] >= bounds["faults_per_call"] or destroyed.total() >= bounds["faults_per_session"]
        ):
            yield event, BOUNDED
        else:
            yield event, WITHHELD


MOST_WITHHELD = 0.1
"""The share of an operator's injections, at one severity, that the guard may withhold."""


@dataclass(slots=True)
class Row:
    """Episodes of one kind, and how many injections met which fate."""

    played: int = 0
    solved: int = 0
    fates: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: Row) -> Row:
        return Row(self.played + other.played, self.solved + other.solved, self.fates + other.fates)

    @property
    def withheld_share(self) -> float:
        """The withheld share of the injections that were to take place; 0 where there were none."""
        planned = self.fates[TOOK_PLACE] + self.fates[WITHHELD]
        return self.fates[WITHHELD] / planned if planned else 0.0


@dataclass(slots=True)
class Proof:
    """All counts. `profiles` are keyed by name, severity and stage (None: as written), `operators` by name
    and severity."""

    catalogue: Catalogue
    profiles: dict[tuple[str, float | None, str | None], Row] = field(default_factory=dict)
    operators: dict[tuple[str, float], Row] = field(default_factory=dict)
    unsolved: list[str] = field(default_factory=list)
    _cases: dict[str, dict[str, Case]] = field(default_factory=dict)
    """By subject, its cases by the profile and level that the gateway knew them by."""

    def count(self, outcome: EpisodeOutcome) -> None:
        """Count one episode."""
        case = outcome.case
        self._cases.setdefault(case.subject, {})[f"{case.profile} {case.level}"] = case
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
                row.fates[fate] += 1
        if not outcome.solved:
            record = outcome.record
            self.unsolved.append(
                f"{case.profile} (level {case.level}), {record.job.task.id}, session {record.session_id}: "
                f"{record.error or dict(record.verdict.components if record.verdict else {})}"
            )

    def _rows(self) -> Iterator[tuple[tuple[object, ...], Row]]:
        return chain(self.operators.items(), self.profiles.items())

    @property
    def played(self) -> int:
        return sum(row.played for _, row in self._rows())

    def of_profile(self, name: str, *, severity: float | None = None, stage: str | None = None) -> Row:
        """A profile's row: as written, or, with a severity or a stage, over all of the other."""
        if severity is None and stage is None:
            return self.profiles.get((name, None, None), Row())
        found = (
            row
            for (own, *varied), row in self.profiles.items()
            if own == name and (severity in varied if stage is None else stage in varied)
        )
        return sum(found, Row())

    def find_problems(self) -> Iterator[str]:
        """What speaks against solvability, or against the noise having been there."""
        for one in self.unsolved:
            yield f"unsolved: {one}"
        for (name, severity), row in sorted(self.operators.items()):
            if row.withheld_share > MOST_WITHHELD:
                yield f"{name} at {severity:g}: {row.withheld_share:.0%} of its injections were withheld"
        for name in self._find_idle():
            yield f"{name}: no injection took place"

    def _find_idle(self) -> list[str]:
        """The profiles with noise, and the operators, that injected nothing."""
        injecting = {name for (name, *_), row in self._rows() if row.fates[TOOK_PLACE]}
        calm = {name for name, profile in self.catalogue.profiles.items() if not profile["rules"]}
        return sorted({str(name) for (name, *_), _ in self._rows()} - injecting - calm)

    def find_idle_cases(self) -> list[Case]:
        """The cases of the noise that injected nothing."""
        return [case for name in self._find_idle() for case in self._cases[name].values()]
