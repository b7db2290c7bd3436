"""Success: the database ends up as the goal says and otherwise as it was, and the user was told the truth."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from crosswind.simulators.environment import Verdict
from crosswind.simulators.retail import claims
from crosswind.simulators.retail.tasks import Case
from crosswind.simulators.retail.world import TABLES, connect

MadeCall = tuple[str, str]
"""A call as it was made: the tool's name and the arguments' JSON text."""


def verify(
    case: Case, database: sqlite3.Connection, calls: Sequence[MadeCall], last_answer: str | None
) -> Verdict:
    """The verdict on an episode: `database` as it ended, `last_answer` the last text to the user.

    Components: `database_ok` and `told_ok` decide the reward; `read_ok` says that every needed read was made;
    `not_executed` is 1 where the reads were made and the write that was due never was (NoisyAgent:
    "understood but not executed").
    """
    goal = case.goal
    database_ok = _database_ok(case, database)
    told_ok = last_answer is not None and claims.agree(claims.read(last_answer), goal.told)
    made = {(name, _canonical(arguments)) for name, arguments in calls}
    read_ok = all((name, _canonical(json.dumps(arguments))) in made for name, arguments in goal.reads)
    write_made = goal.write is None or (goal.write[0], _canonical(json.dumps(goal.write[1]))) in made
    components = {
        "database_ok": float(database_ok),
        "told_ok": float(told_ok),
        "read_ok": float(read_ok),
        "not_executed": float(read_ok and not write_made),
    }
    return Verdict(float(database_ok and told_ok), components)


def _database_ok(case: Case, database: sqlite3.Connection) -> bool:
    if database.total_changes == 0:
        return not case.goal.changes
    expected = connect(case.image)
    try:
        for table, key, column, value in case.goal.changes:
            expected.execute(f"update {table} set {column} = ? where {TABLES[table]} = ?", (value, key))
        return all(_rows(expected, table) == _rows(database, table) for table in TABLES)
    finally:
        expected.close()


def _rows(database: sqlite3.Connection, table: str) -> list[tuple[object, ...]]:
    return database.execute(f"select * from {table} order by 1").fetchall()


def _canonical(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except (ValueError, RecursionError):
        return arguments
