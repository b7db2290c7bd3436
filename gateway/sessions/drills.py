"""Drills: for a while, a share of the sessions that traffic opens gets a profile.

A drill is a setting in the store, so that a restart knows its deadline. Every process holds to the deadline
by itself. What a drill has injected is counted over all processes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import structlog
from msgspec import structs

from crosswind.gateway.clock import steady_us
from crosswind.gateway.sessions.caps import find_share, may_be_noisy
from crosswind.gateway.sessions.leases import LeasesUnavailable, SharedLog, translate_errors
from crosswind.gateway.sessions.session import Opening
from crosswind.gateway.trajectory.record import Session, Setting
from crosswind.gateway.trajectory.sqlite.connection import commit, retry_while_busy
from crosswind.gateway.trajectory.store import Store
from crosswind.injectors.seeded_random import draw_once

_log = structlog.get_logger("crosswind.drill")

KIND = "drill"
"""The kind of setting under which a drill is kept, and the label of its sessions."""
DRILLED = "drilled"
"""The label that says whether a session of a drill has its profile."""
YES, NO = "yes", "no"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS spent (
  drill TEXT PRIMARY KEY, injected INTEGER NOT NULL DEFAULT 0, refused INTEGER NOT NULL DEFAULT 0,
  turns INTEGER NOT NULL DEFAULT 0, failed INTEGER NOT NULL DEFAULT 0
);
"""
_START_S = 60.0
"""How long a start waits for the other processes' starts."""
_OPEN = "INSERT OR IGNORE INTO spent (drill, injected) VALUES (?, ?)"


class DrillEnd(StrEnum):
    """Why a drill ended."""

    DEADLINE = "deadline"
    ORDER = "order"
    KILL_SWITCH = "kill_switch"
    ABORT = "abort"
    INJECTIONS = "max_injections"


class Drill(msgspec.Struct, frozen=True, kw_only=True):
    """A drill as it was ordered, and how it ended."""

    id: str
    profile: str
    share: float
    """Of the sessions that traffic opens."""
    seed: int
    labels: Mapping[str, Any] = {}
    max_injections: int | None = None
    abort_above: float | None = None
    """The share of failed turns in drilled sessions that ends it."""
    least: int = 20
    """The fewest turns to judge by."""
    began_us: int
    deadline_us: int
    began_by: str
    ended_us: int | None = None
    ended_by: str | None = None
    end: DrillEnd | None = None
    reason: str | None = None
    """Why it ended, in words."""

    def setting(self) -> Setting:
        return Setting(KIND, self.id, msgspec.to_builtins(self), self.ended_us or self.began_us)


class Spent(NamedTuple):
    """What a drill has done, over all processes."""

    injected: int = 0
    refused: int = 0
    """How often there was more to inject than was left."""
    turns: int = 0
    failed: int = 0


class DrillCounts(SharedLog):
    """Counts what drills do in a file that all processes share, or in memory."""

    def __init__(self, file: Path | None, recorded: Mapping[str, int]) -> None:
        """`recorded`: by drill, the injections on record. Counts that other processes have begun stay.

        Raises LeasesUnavailable.
        """
        super().__init__(file, _SCHEMA)
        with translate_errors():
            retry_while_busy(self._connection, "BEGIN IMMEDIATE", _START_S)
            with commit(self._connection):
                self._connection.executemany(_OPEN, recorded.items())

    async def reserve(self, drill: Drill, count: int, taken: int = 0) -> bool:
        """Count injections unless they are more than are left; `taken` are counted soon. Raises
        LeasesUnavailable.
        """
        async with self._writing() as connection:
            connection.execute(_OPEN, (drill.id, 0))
            row = connection.execute("SELECT injected FROM spent WHERE drill = ?", (drill.id,)).fetchone()
            admitted = drill.max_injections is None or row[0] + taken + count <= drill.max_injections
            column, by = ("injected", count) if admitted else ("refused", 1)
            connection.execute(f"UPDATE spent SET {column} = {column} + ? WHERE drill = ?", (by, drill.id))
        return admitted

    async def add(self, drill: Drill, count: int) -> None:
        """Count injections that took place. Raises LeasesUnavailable."""
        async with self._writing() as connection:
            connection.execute(_OPEN, (drill.id, 0))
            connection.execute("UPDATE spent SET injected = injected + ? WHERE drill = ?", (count, drill.id))

    async def note_turn(self, drill: str, *, failed: bool) -> None:
        async with self._writing() as connection:
            connection.execute(_OPEN, (drill, 0))
            connection.execute(
                "UPDATE spent SET turns = turns + 1, failed = failed + ? WHERE drill = ?", (failed, drill)
            )

    def read(self, drill: str) -> Spent:
        row = self._connection.execute(
            "SELECT injected, refused, turns, failed FROM spent WHERE drill = ?", (drill,)
        ).fetchone()
        return Spent() if row is None else Spent(*row)


def count_recorded(store: Store, settings: Iterable[Setting]) -> dict[str, int]:
    """The injections on record of drills that haven't ended."""
    counts = {setting.name: 0 for setting in settings if setting.value.get("end") is None}
    if counts:
        drills = {
            one.number: one.labels.get(KIND) for one in store.outcomes() if one.labels.get(DRILLED) == YES
        }
        for event in store.noise_events():
            if (name := drills.get(event.session)) in counts:
                counts[str(name)] += 1
    return counts


class Drills:
    """The drills of a store, of which one at most is running."""

    def __init__(
        self, settings: Iterable[Setting], counts: DrillCounts, clock: Callable[[], int] = steady_us
    ) -> None:
        self.known: dict[str, Drill] = {}
        self.counts = counts
        self.clock = clock
        self._taken: Counter[str] = Counter()
        """By drill, the injections of this process that aren't counted yet."""
        for setting in settings:
            self.hear(setting)

    def hear(self, setting: Setting) -> None:
        """Take a drill's setting, from the store or from another process. An end is never undone."""
        try:
            drill = msgspec.convert(dict(setting.value), Drill)
        except msgspec.ValidationError as error:
            _log.error("a stored drill can't be used: it is skipped", drill=setting.name, error=str(error))
            return
        known = self.known.get(drill.id)
        if known is None or known.end is None:
            self.known[drill.id] = drill

    @property
    def open(self) -> Drill | None:
        """The drill whose end isn't on record."""
        return next((drill for drill in reversed(self.known.values()) if drill.end is None), None)

    @property
    def running(self) -> Drill | None:
        """The drill that acts now."""
        drill = self.open
        return None if drill is None or self.clock() >= drill.deadline_us else drill

    def enlist(self, opening: Opening) -> Opening:
        """The opening of a session by traffic: with the drill's profile if it is drawn, else only labelled as
        one of those that it is compared with. The caps on noise hold: only a session that they let be noisy
        is drawn.
        """
        drill, record = self.running, opening.record
        if drill is None or record.group_id is not None:
            return opening
        allowed = find_share(opening.dose, record.tenant)
        if allowed == 0.0:
            return opening
        may = may_be_noisy(opening.dose, record.tenant, seed=opening.seed, key=opening.scope_key())
        drawn = may and draw_once(f"drill|{drill.seed}|{record.id}") * allowed < drill.share
        labels = {**record.labels, **drill.labels, KIND: drill.id, DRILLED: YES if drawn else NO}
        record = structs.replace(record, labels=labels)
        if not drawn:
            return structs.replace(opening, record=record)
        return structs.replace(opening, record=record, profile=drill.profile, seed=drill.seed, arm="noisy")

    def allow_noise(self, record: Session) -> bool:
        """Whether new noise may act in a session: not in one of a drill that is over."""
        if record.labels.get(DRILLED) != YES:
            return True
        drill = self.running
        return drill is not None and drill.id == record.labels.get(KIND)

    async def reserve(self, record: Session, count: int) -> bool:
        """Count injections into a session; False where its drill has none left."""
        drill = self._of(record)
        if drill is None or not count:
            return True
        others = self._taken[drill.id]
        self._taken[drill.id] += count
        try:
            return await self.counts.reserve(drill, count, others)
        except LeasesUnavailable as error:
            _log.error("a drill's injections can't be counted: there are none", error=str(error))
            return False
        finally:
            self._taken[drill.id] -= count

    def count_left(self, record: Session) -> int | None:
        """How many injections a session's drill has left; None: as many as come."""
        drill = self._of(record)
        if drill is None or drill.max_injections is None:
            return None
        spent = self.counts.read(drill.id).injected + self._taken[drill.id]
        return max(0, drill.max_injections - spent)

    def take(self, record: Session, count: int) -> None:
        """Take injections that are counted when they are recorded."""
        if (drill := self._of(record)) is not None:
            self._taken[drill.id] += count

    async def add(self, record: Session, count: int, *, taken: bool) -> None:
        """Count injections that took place; `taken`: they had been taken before."""
        drill = self._of(record)
        if drill is None or not count:
            return
        try:
            await self.counts.add(drill, count)
        except LeasesUnavailable as error:
            _log.error("a drill's injections were not counted", error=str(error))
            return  # What was taken stays taken.
        if taken:
            self._taken[drill.id] -= count

    async def note_turn(self, record: Session, *, failed: bool) -> None:
        """Count a turn of a drilled session. Failures that noise injected are no failures."""
        drill = self._of(record)
        if drill is None:
            return
        try:
            await self.counts.note_turn(drill.id, failed=failed)
        except LeasesUnavailable as error:
            _log.error("a drill's turn can't be counted", error=str(error))

    def _of(self, record: Session) -> Drill | None:
        """The drill that a session got its profile from."""
        if record.labels.get(DRILLED) != YES:
            return None
        return self.known.get(str(record.labels.get(KIND)))
