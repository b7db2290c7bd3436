"""What clients were told, and whether a store holds it.

A client was told when it had a plain body's last byte, a stream's completing event, or the 2xx of a reward, a
close, a deletion or a session's creation. What it was told and the store lacks is lost; what the store holds
twice is doubled.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.gateway.trajectory.store import StoreError


class Kind(StrEnum):
    OPENED = "opened"
    TURN = "turn"
    REWARD = "reward"
    CLOSED = "closed"
    DELETING = "deleting"
    """A deletion was asked for: from then on the session may be gone."""
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class Fact:
    """What a client was told about a session; `name` is a turn's response id or a reward's value."""

    kind: Kind
    session: str
    name: str = ""


@dataclass
class Ledger:
    """The facts, in the order in which clients were told, and the answers that no client may get."""

    facts: list[Fact] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """Answers with status 500, hangs, malformed answers."""
    refusals: Counter[int] = field(default_factory=Counter)
    """Answers by a status that tells an outage truthfully, such as 502 and 503."""
    on_fact: Callable[[Fact], None] | None = None

    def note(self, kind: Kind, session: str, name: str = "") -> None:
        fact = Fact(kind, session, name)
        self.facts.append(fact)
        if self.on_fact is not None:
            self.on_fact(fact)

    def counts(self) -> dict[str, int]:
        """How many facts there are of each kind."""
        found = Counter(str(fact.kind) for fact in self.facts)
        return {str(kind): found[kind] for kind in Kind if kind is not Kind.DELETING}


@dataclass
class Difference:
    """Where a store differs from what clients were told."""

    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    """Damage that `crosswind store verify` finds."""

    def during(self, what: str) -> Difference:
        """The same, saying during what it came about."""
        return Difference(
            *([f"{what}: {one}" for one in items] for items in (self.lost, self.doubled, self.broken))
        )

    def add(self, other: Difference) -> None:
        self.lost += other.lost
        self.doubled += other.doubled
        self.broken += other.broken

    def __bool__(self) -> bool:
        return bool(self.lost or self.doubled or self.broken)


@dataclass(frozen=True)
class _Stored:
    sessions: dict[str, str]
    """Status by id."""
    turns: Counter[tuple[str, str]]
    rewards: Counter[tuple[str, str]]
    responses: Counter[str]
    values: Counter[str]


def compare(store: Path, facts: Iterable[Fact], expired: Sequence[str] = ()) -> Difference:
    """Compare a store with the facts. Sessions in `expired` may have been deleted by retention, but whole."""
    facts = list(facts)
    try:
        difference = Difference(broken=_verify(store))
        stored = _read(store, {fact.session for fact in facts})
    except (sqlite3.DatabaseError, StoreError) as error:
        return Difference(broken=[f"the store can't be read: {error}"])
    leaving = {fact.session for fact in facts if fact.kind is Kind.DELETING}
    leaving |= set(expired) - stored.sessions.keys()
    for fact in facts:
        if fact.kind is Kind.DELETED:
            if fact.session in stored.sessions:
                difference.lost.append(f"the deletion of {fact.session}")
        elif fact.session not in leaving and not _holds(stored, fact):
            difference.lost.append(f"{fact.kind} {fact.name} of {fact.session}")
    difference.doubled += [f"turn {name}" for name, count in stored.responses.items() if count > 1]
    difference.doubled += [f"reward {value}" for value, count in stored.values.items() if count > 1]
    return difference


def _holds(stored: _Stored, fact: Fact) -> bool:
    key = (fact.session, fact.name)
    match fact.kind:
        case Kind.TURN:
            return key in stored.turns
        case Kind.REWARD:
            return key in stored.rewards
        case Kind.CLOSED:
            return stored.sessions.get(fact.session) == "closed"
        case _:
            return fact.kind is Kind.DELETING or fact.session in stored.sessions


def _read(store: Path, of: set[str]) -> _Stored:
    """What is stored; turns and rewards of these sessions only."""
    with closing(sqlite3.connect(store)) as connection:
        sessions = dict(connection.execute("SELECT id, status FROM session").fetchall())
        turns = connection.execute(
            "SELECT session_id, response_id FROM readable_turn WHERE response_id IS NOT NULL"
        ).fetchall()
        query = "SELECT session.id, reward.reward FROM reward JOIN session ON number = session"
        rewards = connection.execute(query).fetchall()
    told = Counter((session, name) for session, name in turns if session in of)
    given = Counter((session, repr(value)) for session, value in rewards if session in of)
    return _Stored(sessions, told, given, _by_name(told), _by_name(given))


def _by_name(rows: Counter[tuple[str, str]]) -> Counter[str]:
    found: Counter[str] = Counter()
    for (_, name), count in rows.items():
        found[name] += count
    return found


def _verify(store: Path) -> list[str]:
    """What `crosswind store verify` reports."""
    with closing(SqliteStore(store)) as opened:
        return opened.check().problems
