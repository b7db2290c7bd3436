"""Deletes sessions: ranges of a few tables by the session's number.

A session with many turns is deleted in steps. Its own row goes at once, with all but its last turns, which no
query finds any more; `sweep` deletes those in short transactions. If a process dies in between, the next
sweep continues.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterable
from hashlib import blake2b

AT_ONCE = 500
"""How many turns one transaction deletes."""
_OF_SESSION = ("event", "reward", "generated_text", "delivered_id", "destroyed_answer")

NUMBERING = "group_numbering"
"""The kind of the settings with the highest group number of deleted sessions, by the prefix of the group ids
(`train-0-00012`: 12 under `train-0-`). Such numbers are not reused.
"""


def numbering_of(tenant: str | None) -> str:
    """The kind of the same settings for the sessions of one tenant, who mustn't learn of the others'."""
    return NUMBERING if tenant is None else f"{NUMBERING}:{tenant}"


_NUMBERED = re.compile(r"(.*-)([0-9]{1,15})", re.DOTALL)
_NUMBER = """
INSERT INTO setting (kind, name, value_json, updated_us) VALUES (?, ?, json_object('highest', ?), ?)
ON CONFLICT DO UPDATE SET value_json = excluded.value_json, updated_us = excluded.updated_us
WHERE json_extract(excluded.value_json, '$.highest') > json_extract(value_json, '$.highest')"""

_DELETED = """
INSERT INTO deleted_session VALUES (?, arrival()) ON CONFLICT DO UPDATE SET arrival = excluded.arrival"""
_IS_UNKNOWN = (
    "SELECT NOT EXISTS (SELECT 1 FROM session WHERE id = ?) "
    "AND NOT EXISTS (SELECT 1 FROM deleted_session WHERE digest = ?)"
)
_IS_DELETED = "SELECT 1 FROM deleted_session WHERE digest = ?"
_NEXT = """
SELECT 1 + max(coalesce((SELECT max(number) FROM session), 0), (SELECT last FROM numbering)),
  EXISTS (SELECT 1 FROM deleted_session)"""
_FORGET = """
DELETE FROM deleted_session WHERE digest IN (SELECT digest FROM deleted_session WHERE arrival < ? LIMIT ?)"""

_KEYS = "DELETE FROM setting WHERE kind = 'session_key' AND json_extract(value_json, '$.session') = ?"
_TURNS = "(SELECT id FROM turn WHERE session = ? ORDER BY id LIMIT ?)"


def delete_sessions(connection: sqlite3.Connection, session_ids: Iterable[str]) -> None:
    """Delete sessions with their rows and keys, in the caller's transaction. At most `AT_ONCE` of all their
    turns are deleted; the rest is noted for `sweep`.
    """
    left = AT_ONCE
    for session_id in session_ids:
        connection.execute(_KEYS, (session_id,))
        connection.execute(_DELETED, (_digest(session_id),))
        found = connection.execute(
            "SELECT number, group_id, tenant FROM session WHERE id = ?", (session_id,)
        ).fetchone()
        if found is None:
            continue
        number, group_id, tenant = found
        if match := _NUMBERED.fullmatch(group_id or ""):
            for kind in {NUMBERING, numbering_of(tenant)}:
                connection.execute(_NUMBER, (kind, match[1], int(match[2]), time.time_ns() // 1000))
        connection.execute("DELETE FROM session WHERE number = ?", (number,))
        connection.execute("UPDATE numbering SET last = max(last, ?)", (number,))
        for table in _OF_SESSION:
            connection.execute(f"DELETE FROM {table} WHERE session = ?", (number,))
        left -= _delete_turns(connection, number, left)
        if connection.execute("SELECT 1 FROM turn WHERE session = ? LIMIT 1", (number,)).fetchone():
            connection.execute("INSERT INTO unswept VALUES (?)", (number,))


def _delete_turns(connection: sqlite3.Connection, number: int, most: int) -> int:
    connection.execute(f"DELETE FROM delivery WHERE turn IN {_TURNS}", (number, most))
    return connection.execute(f"DELETE FROM turn WHERE id IN {_TURNS}", (number, most)).rowcount


def sweep(connection: sqlite3.Connection, most: int) -> int:
    """Delete at most `most` turns of deleted sessions; return how many, 0 when done.

    Runs in the caller's transaction.
    """
    done = 0
    for (number,) in connection.execute("SELECT session FROM unswept").fetchall():
        done += _delete_turns(connection, number, most - done)
        if done >= most:
            break
        connection.execute("DELETE FROM unswept WHERE session = ?", (number,))
    return done


def find_next_number(connection: sqlite3.Connection) -> tuple[int, bool]:
    """The number that the next session gets, and whether any session was deleted of late."""
    number, deleted = connection.execute(_NEXT).fetchone()
    return number, bool(deleted)


def find_deleted(connection: sqlite3.Connection, session_ids: Iterable[str]) -> str | None:
    """One of these ids whose session was deleted of late, if any."""
    for session_id in session_ids:
        if connection.execute(_IS_DELETED, (_digest(session_id),)).fetchone() is not None:
            return session_id
    return None


def is_unknown(connection: sqlite3.Connection, session_id: str) -> bool:
    """Whether there is no session of this id, and none was deleted of late."""
    values = session_id, bytearray(_digest(session_id))
    return bool(connection.execute(_IS_UNKNOWN, values).fetchone()[0])


def forget_deleted(connection: sqlite3.Connection, before: int, most: int) -> int:
    """Forget ids deleted before that moment of the store's time, `most` of them; return how many."""
    return connection.execute(_FORGET, (before, most)).rowcount


def _digest(session_id: str) -> bytes:
    return blake2b(session_id.encode("utf-8", "surrogatepass"), digest_size=16).digest()
