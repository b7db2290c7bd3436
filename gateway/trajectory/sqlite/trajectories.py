"""Whole trajectories from an SQLite store: of any number of sessions in as many queries as of one."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from crosswind.gateway.trajectory.decided_items import count_items
from crosswind.gateway.trajectory.record import Arm, Event, Session, Trajectory
from crosswind.gateway.trajectory.sqlite.columns import EVENT, SESSION
from crosswind.gateway.trajectory.sqlite.queries import EVENT_ORDER, join_ledgers
from crosswind.gateway.trajectory.sqlite.turn_rows import in_order, read_turns
from crosswind.gateway.trajectory.turn_body import DamagedBody, LedgerBody, decode_body

_AMONG = "IN (SELECT value FROM json_each(?))"
"""Sessions by their numbers, as a JSON list: one statement for any number of them."""


def trajectory(connection: sqlite3.Connection, session_id: str) -> Trajectory | None:
    return next(iter(read_trajectories(connection, "WHERE id = ?", session_id)), None)


def read_trajectories(connection: sqlite3.Connection, rest: str, *values: object) -> list[Trajectory]:
    """The trajectories of the sessions that a query finds; `rest` follows the table's name in it."""
    query = f"SELECT {SESSION.select('number')} FROM {SESSION.name} {rest}"
    found = {row[-1]: SESSION.decode(row[:-1]) for row in connection.execute(query, values)}
    turns = read_turns(connection, {number: session.id for number, session in found.items()})
    events = _read_events(connection, list(found))
    noisy = [number for number, session in found.items() if session.arm is Arm.NOISY]
    ledgers = _read_ledgers(connection, noisy)
    trajectories = []
    for number, session in found.items():
        said, met = tuple(in_order(turns[number])), tuple(events[number])
        items = _count_items(session, ledgers[number], len(said), met) if number in ledgers else None
        trajectories.append(Trajectory(session, said, met, items))
    return trajectories


def _read_events(connection: sqlite3.Connection, numbers: Sequence[int]) -> Mapping[int, list[Event]]:
    query = f"SELECT {EVENT.select('session')} FROM event WHERE session {_AMONG} {EVENT_ORDER}"
    found: defaultdict[int, list[Event]] = defaultdict(list)
    for row in connection.execute(query, (json.dumps(numbers),)):
        found[row[-1]].append(EVENT.decode(row[:-1]))
    return found


def _read_ledgers(connection: sqlite3.Connection, numbers: Sequence[int]) -> Mapping[int, list[bytes]]:
    query = f"SELECT session, ledger FROM turn WHERE session {_AMONG} AND ledger IS NOT NULL ORDER BY id"
    found: dict[int, list[bytes]] = {number: [] for number in numbers}
    for number, ledger in connection.execute(query, (json.dumps(numbers),)):
        found[number].append(ledger)
    return found


def _count_items(
    session: Session, ledgers: Iterable[bytes], turns: int, events: Sequence[Event]
) -> Mapping[str, int] | None:
    """What noise was decided on in a session; None where its ledger is damaged."""
    try:
        bodies = [decode_body(stored, LedgerBody) for stored in ledgers]
    except DamagedBody:
        return None
    return count_items(join_ledgers(session.id, bodies), turns, events)
