"""Orphans: content that no turn refers to, left by versions that did not track users, or by accident.

A sweep knows the keys to release. This instead scans the whole store in one snapshot, then deletes what is
still unused in short transactions.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from crosswind.gateway.trajectory.sqlite.deletion import BLOCK, CHAIN, FRAME

_VIEWS = ("received", "sent", "produced", "delivered")

USED = f"""
WITH RECURSIVE tip (session, session_id, key) AS (
  {
    " UNION ".join(
        f"SELECT number, session_id, {view}_chain FROM turn JOIN session ON session.id = session_id"
        for view in _VIEWS
    )
}
  UNION SELECT number, session_id, prompt_chain FROM turn JOIN session ON session.id = session_id
), node (session, key) AS (
  SELECT session, key FROM tip WHERE key IS NOT NULL
  UNION SELECT node.session, parent FROM node JOIN chain USING (key) WHERE parent IS NOT NULL
), shell (session, key) AS (
  {
    " UNION ".join(
        f"SELECT number, {view}_frame FROM turn JOIN session ON session.id = session_id" for view in _VIEWS
    )
}
), piece (session, hash) AS (
  SELECT session, block FROM node JOIN chain USING (key)
  UNION SELECT session, block FROM shell JOIN frame USING (key) WHERE block IS NOT NULL
  UNION SELECT session, substr(key, 2) FROM shell WHERE length(key) = 17
)"""
"""`WITH` clauses for a query: `node`, `shell` and `piece` are the content that turns refer to, by session."""

_TABLES = {CHAIN: ("chain", "key"), FRAME: ("frame", "key"), BLOCK: ("block", "hash")}
_UNREFERRED = {
    CHAIN: "SELECT key FROM chain WHERE key NOT IN (SELECT key FROM node)",
    FRAME: "SELECT DISTINCT key FROM frame WHERE key NOT IN (SELECT key FROM shell WHERE key IS NOT NULL)",
    BLOCK: "SELECT hash FROM block WHERE hash NOT IN (SELECT hash FROM piece WHERE hash IS NOT NULL)",
}


def find_orphans(connection: sqlite3.Connection, kind: int) -> list[bytes]:
    """The keys of all content of one kind that no turn refers to."""
    return [key for (key,) in connection.execute(f"{USED} {_UNREFERRED[kind]}")]


def delete_orphans(connection: sqlite3.Connection, kind: int, keys: Sequence[bytes]) -> int:
    """Delete those of the keys that no session shares and no open session owns; return how many.

    An open session may be about to refer to its content. Runs in the caller's transaction with foreign keys
    off.
    """
    table, name = _TABLES[kind]
    known = [(kind, key) for key in keys]
    connection.executemany(
        "DELETE FROM share WHERE kind = ? AND key = ? AND session NOT IN (SELECT number FROM session)", known
    )
    before = connection.total_changes
    connection.executemany(
        f"""
        DELETE FROM {table} WHERE {name} = ?2
          AND (owner IS NULL OR owner NOT IN (SELECT number FROM session WHERE status = 'open'))
          AND NOT EXISTS (SELECT 1 FROM share WHERE kind = ?1 AND share.key = ?2)""",
        known,
    )
    return connection.total_changes - before
