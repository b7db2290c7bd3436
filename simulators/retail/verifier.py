"""Success: the database ends up as the goal says and otherwise as it was, and the user was told the truth."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Mapping, Sequence

from crosswind.simulators.environment import Verdict
from crosswind.simulators.retail.tasks import TaskInstance
from crosswind.simulators.retail.world import CITIES, PAYMENTS, STATUSES, TABLES, connect

MadeCall = tuple[str, str]
"""A call as it was made: the tool's name and the arguments' JSON text."""

Claims = Mapping[str, frozenset[str]]
"""For each kind of claim, what the text says; empty where it says nothing of the kind."""

_REFUSED = re.compile(r"\b(?:cannot|can't|can not|could not|unable to)(?: be)?(?: \w+)?", re.IGNORECASE)
_ID = re.compile(r"#[WPU]\d+")
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_QUOTED = re.compile(r'"([^"]*)"')
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def verify(
    case: TaskInstance, database: sqlite3.Connection, calls: Sequence[MadeCall], last_answer: str | None
) -> Verdict:
    """The verdict on an episode: `database` as it ended, `last_answer` the last text to the user.

    Components: `database_ok` and `told_ok` decide the reward; `read_ok` says that every needed read was made;
    `not_executed` is 1 where the reads were made and the write that was due never was (NoisyAgent:
    "understood but not executed").
    """
    goal = case.goal
    database_ok = _database_ok(case, database)
    told_ok = last_answer is not None and claims_agree(read_claims(last_answer), goal.told)
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


def _database_ok(case: TaskInstance, database: sqlite3.Connection) -> bool:
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


def read_claims(text: str) -> Claims:
    """The claims of a text. What a refusal refuses ("cannot be cancelled") isn't claimed as a status."""
    ids = frozenset(_ID.findall(text))
    emails = frozenset(_EMAIL.findall(text))
    quoted = frozenset(_QUOTED.findall(text))
    rest = _EMAIL.sub(" ", _ID.sub(" ", _QUOTED.sub(" ", text)))
    refused = frozenset({"yes"}) if _REFUSED.search(rest) else frozenset[str]()
    words = set(re.findall(r"[a-z]+", _REFUSED.sub(" ", rest).lower()))
    return {
        "order": frozenset(found for found in ids if found.startswith("#W")),
        "product": frozenset(found for found in ids if found.startswith("#P")),
        "email": emails,
        "address": quoted,
        "refused": refused,
        "status": frozenset(words & set(STATUSES)),
        "city": frozenset(city for city in CITIES if city.lower() in words),
        "payment": frozenset(words & set(PAYMENTS)),
        "number": frozenset(_NUMBER.findall(rest)),
    }


def claims_agree(claims: Claims, expected: Mapping[str, str]) -> bool:
    """True if each expected claim is made and is the only one of its kind.

    An id may be left out, since the user knows which order was meant; a wrong one is a wrong answer. An
    expectation of "" is that nothing of the kind is claimed.
    """
    for kind, value in expected.items():
        allowed = {frozenset({value}) if value else frozenset[str]()}
        if kind in ("order", "product_asked"):
            allowed.add(frozenset())
        if claims[kind.removesuffix("_asked")] not in allowed:
            return False
    return True
