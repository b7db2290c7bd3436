"""The schema of stores up to version 10: numbered SQL files, applied in order, never edited afterwards."""

from __future__ import annotations

import re
import sqlite3
import time
from dataclasses import dataclass
from importlib import resources

from crosswind.gateway.trajectory.sqlite.connection import commit
from crosswind.gateway.trajectory.sqlite.schema import read_version, split_statements
from crosswind.gateway.trajectory.store import StoreError

_NAME = re.compile(r"^(\d{4})_([a-z0-9_]+)\.sql$")


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the schema, with the version that it leads to."""

    version: int
    name: str
    sql: str


def migrations() -> list[Migration]:
    """The package's migrations in order, numbered from 1 without a gap."""
    folder = resources.files("crosswind.gateway.trajectory.sqlite_blocks").joinpath("migrations")
    found = [
        Migration(int(match[1]), match[2], file.read_text("utf-8"))
        for file in folder.iterdir()
        if (match := _NAME.match(file.name))
    ]
    found.sort(key=lambda migration: migration.version)
    if [migration.version for migration in found] != list(range(1, len(found) + 1)):
        raise StoreError(f"migrations must be numbered 1, 2, 3 ... and are {[m.version for m in found]}")
    return found


def migrate(connection: sqlite3.Connection, path: str) -> int:
    """Bring the store to the newest version, each step in a transaction; returns that version.

    Raises StoreError where the file is another program's or was written by a newer version of this one.
    """
    steps = migrations()
    newest = steps[-1].version
    for step in steps[read_version(connection, path) :]:
        connection.execute("BEGIN IMMEDIATE")
        with commit(connection):
            # Another process may have applied the step while this one waited for the lock.
            if read_version(connection, path) < step.version:
                for statement in split_statements(step.sql):
                    connection.execute(statement)
                connection.execute(
                    "INSERT INTO schema_version VALUES (?, ?, ?)",
                    (step.version, step.name, time.time_ns() // 1000),
                )
    return newest
