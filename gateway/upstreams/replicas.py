"""The replicas of an upstream: their health, and the order in which a session tries them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import blake2b
from itertools import count

import structlog

from crosswind.gateway.config.upstream import Health

_log = structlog.get_logger("crosswind.upstreams")


@dataclass(frozen=True, slots=True)
class ReplicaState:
    """The health of a replica, as /readyz reports it."""

    up: bool
    failures: int
    """In a row."""
    last_error: str | None


@dataclass(slots=True, eq=False)
class Replica:
    """One server and its health, judged by its requests. Times are seconds of a monotonic clock."""

    base: str
    health: Health
    clock: Callable[[], float] = time.monotonic
    failures: int = 0
    """In a row."""
    ejections: int = 0
    """In a row; a success resets the count."""
    ejected_until: float = 0.0
    last_error: str | None = None
    alone: bool = False
    """Whether its upstream has no other: then it is asked all the same."""

    @property
    def up(self) -> bool:
        """Whether it is not ejected."""
        return self.clock() >= self.ejected_until

    @property
    def state(self) -> ReplicaState:
        return ReplicaState(self.up, self.failures, self.last_error)

    def record_success(self) -> None:
        """Reset the failures: the replica answered."""
        if self.ejections:
            # Failures before that were told of nowhere.
            _log.info("a replica answers again", replica=self.base)
        if self.failures or self.ejections:
            self.failures = self.ejections = 0
            self.ejected_until = 0.0
            self.last_error = None

    def record_status(self, status: int) -> None:
        """Count an answer: a 5xx is a failure, but for 501, which says that a method isn't known."""
        if status >= 500 and status != 501:
            self.record_failure(f"status_{status}")
        else:
            self.record_success()

    def record_failure(self, code: str) -> None:
        """Count a failure: no connection, too slow, or a 5xx. Eject the replica after too many; after an
        ejection, a single failure ejects it again, for longer.
        """
        self.failures += 1
        self.last_error = code
        if self.up and (self.failures >= self.health.failures or self.ejections):
            pause = min(self.health.eject * 2.0**self.ejections, self.health.eject_longest)
            self.ejections += 1
            self.ejected_until = self.clock() + pause
            if not self.alone:
                _log.warning("a replica is ejected", replica=self.base, seconds=pause, error=code)
            elif self.ejections == 1:
                _log.warning(
                    "the only replica fails; requests still go to it",
                    replica=self.base,
                    failures=self.failures,
                    error=code,
                )


class Replicas:
    def __init__(self, bases: Iterable[str], health: Health) -> None:
        named = tuple(bases)
        self.members = tuple(Replica(base, health, alone=len(named) == 1) for base in named)
        self._turns = count()

    def order(self, session: str | None) -> tuple[Replica, ...]:
        """Order the replicas for a request: those that are up first, then the ejected ones.

        Rendezvous hashing: a session keeps its first replica, and when a replica goes down only its own
        sessions move. Requests without a session are distributed round-robin.
        """
        if len(self.members) == 1:
            return self.members
        if session is None:
            first = next(self._turns) % len(self.members)
            ranked = self.members[first:] + self.members[:first]
        else:
            ranked = tuple(
                sorted(self.members, key=lambda one: _compute_weight(session, one.base), reverse=True)
            )
        return tuple(sorted(ranked, key=lambda one: not one.up))


def _compute_weight(session: str, base: str) -> bytes:
    return blake2b(f"{session}\x1f{base}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
