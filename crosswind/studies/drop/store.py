"""The figures on success under noise of a store's sessions, whoever recorded them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from crosswind.figures.attempts import Arm, Attempt
from crosswind.figures.figures import Figures, measure
from crosswind.gateway.trajectory.store import Store
from crosswind.studies.attempts import READ_IN_FULL, Selected, StoredAttempts, read_attempts, with_labels
from crosswind.studies.components import kind_of
from crosswind.studies.drop.sections import Section, describe

Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class StoreDrop:
    """The figures of the sessions of one purpose."""

    purpose: str
    """Their label `purpose`; empty for those without."""
    attempts: tuple[Attempt, ...]
    figures: Figures
    sections: list[Section]

    @property
    def compares(self) -> bool:
        """Whether sessions of both arms have outcomes: only then is there a drop to tell."""
        return {one.arm for one in self.attempts if one.counts} >= set(Arm)

    @property
    def title(self) -> str:
        return "Crosswind: success under noise" + (f" ({self.purpose})" if self.purpose else "")

    def to_json(self) -> dict[str, Any]:
        return {"purpose": self.purpose, **self.figures.to_json()}


def measure_store(
    store: Store,
    only: Labels | None = None,
    clean: Labels | None = None,
    noisy: Labels | None = None,
    *,
    read_in_full: int = READ_IN_FULL,
) -> list[StoreDrop]:
    """The figures of each purpose that the sessions have, whether there is a drop to tell or not. `clean` and
    `noisy` are the labels of the arms; by default sessions are in the arm that they were assigned."""
    given = dict(only or {})
    arms = {Arm.CLEAN: with_labels(clean), Arm.NOISY: with_labels(noisy)} if clean and noisy else None
    chosen = with_labels(given)
    purposes = dict.fromkeys(str(one.labels.get("purpose") or "") for one in store.outcomes() if chosen(one))
    read = {
        purpose: read_attempts(store, _of_purpose(given, purpose), arms=arms, read_in_full=read_in_full)
        for purpose in purposes
    }
    return [measure_read(one, purpose) for purpose, one in read.items() if one.attempts]


def measure_read(read: StoredAttempts, purpose: str = "") -> StoreDrop:
    """The figures of what was read, whether any of it counts or not."""
    figures = measure(read.attempts, kind_of)
    sections = describe(figures, read=read.read, of=len(read.attempts))
    return StoreDrop(purpose, read.attempts, figures, sections)


def _of_purpose(labels: Labels, purpose: str) -> Selected:
    selects = with_labels(labels)
    return lambda one: selects(one) and str(one.labels.get("purpose") or "") == purpose
