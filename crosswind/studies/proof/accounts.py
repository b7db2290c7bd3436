"""What became of the injections that a session's plan had in store, told from its events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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


def fates(
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
