"""Queries over the whole store: training runs and steps, injections, versions and counts."""

from __future__ import annotations

import sqlite3

from crosswind.gateway.trajectory.record import TrainStep
from crosswind.gateway.trajectory.sqlite.columns import TRAIN_STEP
from crosswind.gateway.trajectory.sqlite.queries import select


def steps(connection: sqlite3.Connection, run: str) -> list[TrainStep]:
    return select(connection, TRAIN_STEP, "WHERE run = ? ORDER BY step", run)


def runs(connection: sqlite3.Connection) -> list[str]:
    query = "SELECT run FROM train_step GROUP BY run ORDER BY min(arrival), run"
    return [run for (run,) in connection.execute(query)]


def injections(connection: sqlite3.Connection) -> dict[str, int]:
    query = "SELECT operator, count(*) FROM event WHERE after IS NOT NULL GROUP BY operator ORDER BY operator"
    return dict(connection.execute(query).fetchall())


def noise_by_session(connection: sqlite3.Connection) -> dict[str, dict[str, tuple[int, int]]]:
    query = """
    SELECT session.id, operator, sum(after IS NOT NULL), sum(after IS NULL)
    FROM event JOIN session ON number = session WHERE slot <> '' GROUP BY number, operator
    """
    found: dict[str, dict[str, tuple[int, int]]] = {}
    for session, operator, injected, withheld in connection.execute(query):
        found.setdefault(session, {})[operator] = (injected, withheld)
    return found


def versions(connection: sqlite3.Connection) -> list[str]:
    query = """
    SELECT version FROM (
      SELECT policy_first AS version, id AS came FROM turn
      UNION ALL SELECT policy_last, id FROM turn
    ) WHERE version IS NOT NULL GROUP BY version ORDER BY min(came), version
    """
    return [version for (version,) in connection.execute(query)]


def counts(connection: sqlite3.Connection) -> dict[str, int]:
    tables = {
        "sessions": "session",
        "turns": "turn",
        "events": "event",
        "rewards": "reward",
        "settings": "setting",
        "train_steps": "train_step",
    }
    return {
        kind: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        for kind, table in tables.items()
    }
