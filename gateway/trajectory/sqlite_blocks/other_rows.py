"""The rows of a store that belong to no session: copied as they are, and compared."""

from __future__ import annotations

import sqlite3

from crosswind.gateway.trajectory.sqlite_blocks.session_copy import insert_rows
from crosswind.gateway.trajectory.store import StoreError

_TABLES = {
    "setting": ("kind", "name", "value_json", "updated_us", "arrival"),
    "provider_object": ("id", "tenant", "created_us"),
    "deleted_session": ("digest", "arrival"),
    "train_step": (
        *("run", "step", "group_ids_json", "seeds_json", "created_us"),
        *("policy_version", "metrics_json", "completed_us", "arrival"),
    ),
    "clock": ("boot", "offset_us"),
    "numbering": ("last",),
}
_READ = {"train_step": {"arrival": "coalesce(arrival, created_us)"}}
_AT_ONCE = 1000


def copy_other_rows(old: sqlite3.Connection, new: sqlite3.Connection) -> None:
    """Copy the rows, in the caller's transaction. Raises StoreError where they can't be read back."""
    for table, columns in _TABLES.items():
        new.execute(f"DELETE FROM {table}")
        read = _READ.get(table, {})
        found = old.execute(f"SELECT {', '.join(read.get(name, name) for name in columns)} FROM {table}")
        while rows := found.fetchmany(_AT_ONCE):
            insert_rows(new, table, columns, rows)
        compare_other_rows(old, new, table)


def compare_other_rows(old: sqlite3.Connection, new: sqlite3.Connection, table: str) -> None:
    columns = _TABLES[table]
    read = _READ.get(table, {})
    before, after = (
        connection.execute(f"SELECT {', '.join(names)} FROM {table} ORDER BY {', '.join(columns)}")
        for connection, names in ((old, [read.get(name, name) for name in columns]), (new, columns))
    )
    while (rows := before.fetchmany(_AT_ONCE)) == after.fetchmany(_AT_ONCE):
        if not rows:
            return
    raise StoreError(f"the rows of {table} came out other than they were; please report this")
