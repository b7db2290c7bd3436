"""An upstream's replicas: how each one fares, and in which order a session tries them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import count

import structlog

from crosswind.gateway.config.upstream import Health

_log = structlog.get_logger("crosswind.upstreams")


@dataclass(frozen=True, slots=True)
class ReplicaState:
    """How a replica fares, as readiness tells it."""

    up: bool
    failures: int
    """In a row."""
    last_error: str | None


@dataclass(slots=True, eq=False)
class Replica:
    """One server, judged by what came of its requests. Times are seconds of a monotonic clock."""

    base: str
    health: Health
    clock: Callable[[], float] = time.monotonic
    failures: int = 0
    """In a row."""
    ejections: int = 0
    """In a row: a success ends the row."""
    ejected_until: float = 0.0
    last_error: str | None = None

    @property
    def up(self) -> bool:
        """Whether it is among those that requests go to first."""
        return self.clock() >= self.ejected_until

    @property
    def state(self) -> ReplicaState:
        """How it fares now."""
        return ReplicaState(self.up, self.failures, self.last_error)

    def succeeded(self) -> None:
        """It answered."""
        if self.failures or self.ejections:
            self.failures = self.ejections = 0
            self.ejected_until = 0.0
            self.last_error = None
            _log.info("a replica answers again", replica=self.base)

    def failed(self, code: str) -> None:
        """It could not be reached, was too slow, or answered with a 5xx. After an ejection one more is enough
        for the next.
        """
        self.failures += 1
        self.last_error = code
        if self.up and (self.failures >= self.health.failures or self.ejections):
            pause = min(self.health.eject * 2.0**self.ejections, self.health.eject_longest)
            self.ejections += 1
            self.ejected_until = self.clock() + pause
            _log.warning("a replica is held to be down", replica=self.base, seconds=pause, error=code)


@dataclass(slots=True)
class Replicas:
    """All replicas of one upstream."""

    members: tuple[Replica, ...]
    _turns: count[int] = field(default_factory=count)

    @classmethod
    def at(cls, bases: Iterable[str], health: Health) -> Replicas:
        """Replicas at these base URLs."""
        return cls(tuple(Replica(base, health) for base in bases))

    def order(self, session: str | None) -> tuple[Replica, ...]:
        """The replicas in the order in which to try them: those that are up before those that are left out.

        By rendezvous hashing: a session keeps its first replica, and when one goes only its sessions move.
        Requests of no session take turns.
        """
        if len(self.members) == 1:
            return self.members
        if session is None:
            first = next(self._turns) % len(self.members)
            ranked = self.members[first:] + self.members[:first]
        else:
            ranked = tuple(sorted(self.members, key=lambda one: _weight(session, one.base), reverse=True))
        return tuple(sorted(ranked, key=lambda one: not one.up))


def _weight(session: str, base: str) -> bytes:
    return blake2b(f"{session}\x1f{base}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
