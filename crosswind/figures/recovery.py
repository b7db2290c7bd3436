"""What the agent did after faults, and how its failed attempts failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, median

import msgspec

from crosswind.figures.attempts import Attempt, Fault, Reaction


class RecoveryRow(msgspec.Struct, frozen=True):
    """The faults of one operator, or of all operators to whose faults a reaction was read."""

    name: str
    faults: int
    read: int
    """Faults whose reaction was read."""
    reactions: Mapping[str, int]
    lost: int
    """Faults that took something away, so that there was something to recover."""
    recovered: int
    turns: float | None
    """The median of the turns until it was recovered."""
    solved_after: float | None
    """Mean success of the attempts that recovered from all their faults."""
    solved_without: float | None
    """Mean success of the attempts that didn't."""


ALL = "all"


def measure_recovery(attempts: Iterable[Attempt]) -> tuple[RecoveryRow, ...]:
    """A row for all faults that ask for a reaction, and one for each operator; none where there is no fault.

    Faults of an operator to which no reaction was read, such as typing errors, are in its own row only.
    """
    met = [(one, fault) for one in attempts if one.void is None for fault in one.faults]
    asking = {fault.operator for _, fault in met if fault.reaction is not None}
    gathered: dict[str, list[tuple[Attempt, Fault]]] = {ALL: []} if met else {}
    for attempt, fault in met:
        gathered.setdefault(fault.operator, []).append((attempt, fault))
        if fault.operator in asking:
            gathered[ALL].append((attempt, fault))
    names = sorted(gathered, key=lambda name: (name != ALL, name))
    return tuple(_row(name, gathered[name]) for name in names)


def _row(name: str, met: Sequence[tuple[Attempt, Fault]]) -> RecoveryRow:
    faults = [fault for _, fault in met]
    reactions = Counter(fault.reaction for fault in faults if fault.reaction is not None)
    turns = [fault.turns_to_recover for fault in faults if fault.turns_to_recover is not None]
    ends: dict[int, tuple[bool, float]] = {}
    for attempt, fault in met:
        if fault.recovered is not None and attempt.success is not None:
            sofar = ends.get(id(attempt), (True, 0.0))[0]
            ends[id(attempt)] = (sofar and fault.recovered, attempt.success)
    after = [success for recovered, success in ends.values() if recovered]
    without = [success for recovered, success in ends.values() if not recovered]
    return RecoveryRow(
        name,
        len(faults),
        reactions.total(),
        {one.value: reactions[one] for one in Reaction if reactions[one]},
        sum(fault.recovered is not None for fault in faults),
        sum(fault.recovered is True for fault in faults),
        median(turns) if turns else None,
        fmean(after) if after else None,
        fmean(without) if without else None,
    )


def count_error_modes(attempts: Iterable[Attempt]) -> dict[str, int]:
    """The failed attempts by how they failed; `not read` where nobody looked."""
    failed = [one for one in attempts if one.void is None and one.success is not None and one.success < 1.0]
    found = Counter("not read" if one.error_mode is None else one.error_mode.value for one in failed)
    return dict(found.most_common())
