"""Dose and response: what an agent without recovery fails, and how far injections go, as severity rises."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from crosswind.studies.proof.accounts import TOOK_PLACE, fates
from crosswind.studies.proof.cases import FITTINGS, Fitting
from crosswind.studies.proof.catalogue import Catalogue, Operator
from crosswind.studies.proof.distance import distance, unit_of
from crosswind.studies.proof.play import Outcome
from crosswind.studies.proof.ranks import spearman

ENOUGH = 0.9
"""The rank correlation that shows that the response rises with the dose."""

HURTS = frozenset({"retry", "other_tool", "ask_user"})
"""Recoveries without which an agent fails."""

FAILED = "share of tasks failed"

FAULTS_PER_CALL = 8
"""Bound of the measurement. The agent doesn't call again; but a fault that finds nothing in an answer to act
on counts as well, and one allowed in a row would spare the next answer."""


@dataclass(frozen=True, slots=True)
class Response:
    """An operator's response to five severities: a share of failures, or a mean distance per task."""

    operator: Operator
    unit: str
    severities: tuple[float, ...]
    values: tuple[float, ...]
    low: tuple[float, ...]
    """The values less a standard error of their means."""
    high: tuple[float, ...]
    tasks: int

    @property
    def coefficient(self) -> float:
        """Spearman's rank correlation of severity and response; nan where the response never changes."""
        return spearman(self.severities, self.values)

    @property
    def rises(self) -> bool:
        return not math.isnan(self.coefficient) and self.coefficient >= ENOUGH - 1e-9


@dataclass(slots=True)
class Dose:
    """What was measured, per operator and severity, task by task."""

    catalogue: Catalogue
    _failed: dict[tuple[str, float], list[float]] = field(default_factory=dict)
    _distance: dict[tuple[str, float], list[float]] = field(default_factory=dict)

    def see(self, outcome: Outcome) -> None:
        """Count one episode."""
        case = outcome.case
        assert case.severity is not None
        key = (case.subject, case.severity)
        took_place = [
            event
            for event, fate in fates(outcome.events, outcome.record.plan["bounds"])
            if fate == TOOK_PLACE and event["operator"] == case.subject
        ]
        self._failed.setdefault(key, []).append(float(not outcome.solved))
        if not hurts(self.catalogue.operators[case.subject]):
            self._distance.setdefault(key, []).append(sum(map(distance, took_place)))

    def responses(self) -> Iterator[Response]:
        """The operators' responses, by name."""
        for name in sorted({name for name, _ in self._failed}):
            operator = self.catalogue.operators[name]
            severities = sorted(severity for own, severity in self._failed if own == name)
            measured = self._failed if hurts(operator) else self._distance
            yield _response(operator, severities, [measured[name, severity] for severity in severities])


def hurts(operator: Operator) -> bool:
    """Whether an agent that doesn't recover as the operator declares fails."""
    return operator.recovery in HURTS and not FITTINGS.get(operator.name, Fitting()).distance


def _response(operator: Operator, severities: Sequence[float], measured: Sequence[list[float]]) -> Response:
    means = [fmean(each) for each in measured]
    errors = [_error(each, mean) for each, mean in zip(measured, means, strict=True)]
    return Response(
        operator,
        FAILED if hurts(operator) else unit_of(operator.name, operator.site),
        tuple(severities),
        tuple(means),
        tuple(mean - error for mean, error in zip(means, errors, strict=True)),
        tuple(mean + error for mean, error in zip(means, errors, strict=True)),
        len(measured[0]),
    )


def _error(values: Sequence[float], mean: float) -> float:
    if len(values) < 2:
        return 0.0
    return math.sqrt(sum((one - mean) ** 2 for one in values) / (len(values) - 1) / len(values))
