"""The schema of an SQLite store: one script for a new store. A command carries older stores over."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from importlib import resources
from pathlib import Path
from urllib.parse import quote

from crosswind.gateway.trajectory.sqlite.connection import commit, translate_errors
from crosswind.gateway.trajectory.store import StoreError

VERSION = 11
"""The schema's version. Versions 1 to 10 kept content by its hash; `sqlite_blocks` reads them."""
_NAME = "flat"
_LATER = {("event", "version"): "INTEGER", ("train_step", "rewards_json"): "TEXT"}
"""Columns that the first stores of this version had not, with their types."""
_LATER_INDICES = ("session_touched", "session_alone")


def prepare(connection: sqlite3.Connection, path: str) -> None:
    """Create the schema in an empty file.

    Raises StoreError where the file is another program's, or has another version of the schema.
    """
    if _require_known(read_version(connection, path), path) == 0:
        connection.execute("BEGIN IMMEDIATE")
        with commit(connection):
            # Another process may have created it while this one waited for the lock.
            if read_version(connection, path) == 0:
                create(connection)
    elif _list_missing(connection):
        connection.execute("BEGIN IMMEDIATE")
        with commit(connection):
            for statement in _list_missing(connection):
                connection.execute(statement)


def _list_missing(connection: sqlite3.Connection) -> list[str]:
    """The statements for what the file lacks of what came later."""
    found = [
        f"ALTER TABLE {table} ADD COLUMN {column} {kind}"
        for (table, column), kind in _LATER.items()
        if column not in {name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")}
    ]
    indices = {name for _, name, *_ in connection.execute("PRAGMA index_list(session)")}
    for later in _LATER_INDICES:
        if later not in indices:
            found += [one for one in split_statements(_read_script()) if f"CREATE INDEX {later} " in one]
    return found


def require_openable(path: Path) -> None:
    """Raise StoreError where `prepare` would. The file stays as it is."""
    if path.stat().st_size:
        _require_known(stored_version(path), str(path))


def _require_known(version: int, path: str) -> int:
    if version not in (0, VERSION):
        raise StoreError(
            f"{path} has schema version {version} and this version of crosswind writes version {VERSION}; "
            f"run `crosswind store migrate {path}`"
        )
    return version


def create(connection: sqlite3.Connection) -> None:
    """Create the schema within the caller's transaction."""
    for statement in split_statements(_read_script()):
        connection.execute(statement)
    connection.execute(
        "INSERT INTO schema_version VALUES (?, ?, ?)", (VERSION, _NAME, time.time_ns() // 1000)
    )


def _read_script() -> str:
    return resources.files("crosswind.gateway.trajectory.sqlite").joinpath("schema.sql").read_text("utf-8")


def stored_version(path: Path) -> int:
    """The schema version of the store at `path`. Changes nothing but what a killed process left half done.

    Raises StoreError as `read_version` does, and where there is no store.
    """
    if not path.is_file():
        raise StoreError(f"there is no store at {path}; name an existing one")
    with translate_errors(path):
        try:
            return _read_version_in(path, "ro")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_READONLY_ROLLBACK:
                raise
            # A process was killed before the file was in WAL mode. Only a writer may roll its change back.
            return _read_version_in(path, "rw")


def _read_version_in(path: Path, mode: str) -> int:
    with closing(sqlite3.connect(f"file:{quote(str(path))}?mode={mode}", uri=True)) as connection:
        return read_version(connection, str(path))


def read_version(connection: sqlite3.Connection, path: str) -> int:
    """The file's schema version; 0 for an empty file.

    Raises StoreError where the file is another program's, or was written by a newer version of crosswind.
    """
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if "schema_version" not in tables:
        if tables:
            raise StoreError(
                f"{path} is an SQLite file of another program (its tables: {', '.join(sorted(tables)[:5])}); "
                "name a file that does not exist yet"
            )
        return 0
    at: int = connection.execute("SELECT coalesce(max(version), 0) FROM schema_version").fetchone()[0]
    if at > VERSION:
        raise StoreError(
            f"{path} has schema version {at} and this version of crosswind knows versions up to {VERSION}; "
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
