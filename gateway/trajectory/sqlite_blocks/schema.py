"""The schema of stores up to version 10: numbered SQL files, applied in order, never edited afterwards."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from urllib.parse import quote

from crosswind.gateway.trajectory.sqlite.connection import commit, translate_errors
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
    at = _version(connection, path, newest)
    for step in steps[at:]:
        connection.execute("BEGIN IMMEDIATE")
        with commit(connection):
            # Another process may have applied the step while this one waited for the lock.
            if _version(connection, path, newest) < step.version:
                for statement in split_statements(step.sql):
                    connection.execute(statement)
                connection.execute(
                    "INSERT INTO schema_version VALUES (?, ?, ?)",
                    (step.version, step.name, time.time_ns() // 1000),
                )
    return newest


def pending_migrations(path: Path) -> tuple[int, list[Migration]]:
    """The schema version of the store at `path` and the migrations it lacks. Changes nothing.

    Raises StoreError as `migrate` does, and where there is no store.
    """
    steps = migrations()
    if not path.is_file():
        raise StoreError(f"there is no store at {path}; name an existing one")
    with (
        translate_errors(path),
        closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as connection,
    ):
        at = _version(connection, str(path), steps[-1].version)
    return at, steps[at:]


def _version(connection: sqlite3.Connection, path: str, newest: int) -> int:
    """The file's schema version; 0 for an empty file."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if "schema_version" not in tables:
        if tables:
            raise StoreError(
                f"{path} is an SQLite file of another program (its tables: {', '.join(sorted(tables)[:5])}); "
                "name a file that does not exist yet"
            )
        return 0
    at: int = connection.execute("SELECT coalesce(max(version), 0) FROM schema_version").fetchone()[0]
    if at > newest:
        raise StoreError(
            f"{path} has schema version {at} and this version of crosswind knows versions up to {newest}; "
            "upgrade crosswind, or name another store"
        )
    return at


def split_statements(sql: str) -> Iterator[str]:
    """Split the script into statements; `executescript` would commit between them."""
    statement = ""
    for line in sql.splitlines(keepends=True):
        statement += line
        if ";" in line and sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if statement.strip():
        yield statement
