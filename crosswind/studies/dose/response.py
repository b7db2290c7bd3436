"""The response of each operator to severity: failures without recovery, or distances."""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import correlation, fmean, stdev
from typing import Any

from crosswind.studies.prove.cases import ADAPTATIONS, Adaptation, Catalogue, ListedOperator
from crosswind.studies.prove.episodes import EpisodeOutcome
from crosswind.studies.prove.proof import TOOK_PLACE, injection_fates


def spearman(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Rank correlation in [-1, 1], ties sharing their mean rank; nan where one of the two never changes."""
    if min(len(set(xs)), len(set(ys))) < 2:
        return math.nan
    return correlation(_ranks(xs), _ranks(ys))


def _ranks(values: Sequence[float]) -> list[float]:
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) + 1) / 2 for value in values]


_WORD = re.compile(r"\w+")
_BYTES = 2048
"""The size of the answer for which a bandwidth is told in milliseconds."""


def unit_of(operator: str, site: str) -> str:
    """In what the distance of an operator's injections is told."""
    if operator == "transport.duplicated_delivery":
        return "requests repeated"
    return "ms" if site == "transport" else "words edited"


def distance(event: Mapping[str, Any]) -> float:
    """The distance of one event that took place, in its operator's unit."""
    if event["site"] != "transport":
        return float(words_edited(event["before"], event["after"]))
    settings = json.loads(event["after"])
    if settings["kind"] == "duplicate":
        return float(settings["times"]) - 1.0
    if "bytes_per_s" in settings:
        return 1000.0 * _BYTES / float(settings["bytes_per_s"])
    return float(settings.get("delay_ms", settings.get("stall_ms", 0.0)))


def words_edited(before: str, after: str) -> int:
    """Words that were put in, taken out or exchanged (of a run of other length the longer side counts)."""
    old, new = _WORD.findall(before), _WORD.findall(after)
    blocks = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return sum(max(b - a, d - c) for tag, a, b, c, d in blocks if tag != "equal")


ENOUGH = 0.9
"""The rank correlation that shows that the response rises with the dose."""

HURTS = frozenset({"retry", "other_tool", "ask_user"})
"""Recoveries without which an agent fails."""

FAILED = "share of tasks failed"

FAULTS_PER_CALL = 8
"""Bound of the measurement. The agent doesn't call again; but a fault that finds nothing to act on counts,
too, and with a bound of one in a row the next answer would be spared."""


@dataclass(frozen=True, slots=True)
class DoseResponse:
    """An operator's response to five severities: a share of failures, or a mean distance per task."""

    operator: ListedOperator
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
class DoseMeasurement:
    """What was measured, per operator and severity, task by task."""

    catalogue: Catalogue
    _failed: dict[tuple[str, float], list[float]] = field(default_factory=dict)
    _distance: dict[tuple[str, float], list[float]] = field(default_factory=dict)

    def count(self, outcome: EpisodeOutcome) -> None:
        """Count one episode."""
        case = outcome.case
        assert case.severity is not None
        key = (case.subject, case.severity)
        took_place = [
            event
            for event, fate in injection_fates(outcome.events, outcome.record.plan["bounds"])
            if fate == TOOK_PLACE and event["operator"] == case.subject
        ]
        self._failed.setdefault(key, []).append(float(not outcome.solved))
        if not hurts(self.catalogue.operators[case.subject]):
            self._distance.setdefault(key, []).append(sum(map(distance, took_place)))

    def responses(self) -> Iterator[DoseResponse]:
        """The operators' responses, by name."""
        for name in sorted({name for name, _ in self._failed}):
            operator = self.catalogue.operators[name]
            severities = sorted(severity for own, severity in self._failed if own == name)
            measured = self._failed if hurts(operator) else self._distance
            yield _response(operator, severities, [measured[name, severity] for severity in severities])


def hurts(operator: ListedOperator) -> bool:
    """Whether an agent that doesn't recover as the operator declares fails."""
    return operator.recovery in HURTS and not ADAPTATIONS.get(operator.name, Adaptation()).distance


def _response(
    operator: ListedOperator, severities: Sequence[float], measured: Sequence[list[float]]
) -> DoseResponse:
    means = [fmean(each) for each in measured]
    errors = [stdev(each) / math.sqrt(len(each)) for each in measured]
    return DoseResponse(
        operator,
        FAILED if hurts(operator) else unit_of(operator.name, operator.site),
        tuple(severities),
        tuple(means),
        tuple(mean - error for mean, error in zip(means, errors, strict=True)),
        tuple(mean + error for mean, error in zip(means, errors, strict=True)),
        len(measured[0]),
    )
