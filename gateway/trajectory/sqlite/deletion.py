"""Deletes sessions with their content, at a cost proportional to what they referred to.

A piece of content is owned by the session that stored it first; `share` lists the other sessions that use it.
Deleting a session writes the keys of its content to `released` in the same transaction. `sweep` then releases
them one by one: a shared piece passes to another session, any other is deleted. If a process dies in between,
the next sweep continues.

A sweep runs with foreign keys off, because SQLite would scan whole tables for references.
"""

from __future__ import annotations

import re
import sqlite3
import time
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

BLOCK, CHAIN, FRAME = 0, 1, 2

_CHAINS = ("received_chain", "sent_chain", "produced_chain", "delivered_chain", "prompt_chain")
_FRAMES = ("received_frame", "sent_frame", "produced_frame", "delivered_frame")
_OF = "WHERE session_id = :id"
_REFERRED = " UNION ".join(
    [
        *(f"SELECT {CHAIN}, {name} FROM turn {_OF}" for name in _CHAINS),
        *(f"SELECT {FRAME}, {name} FROM turn {_OF} AND length({name}) = 16" for name in _FRAMES),
        *(f"SELECT {BLOCK}, substr({name}, 2) FROM turn {_OF} AND length({name}) = 17" for name in _FRAMES),
    ]
)
_RELEASED = f"""
WITH referred (kind, key) AS ({_REFERRED})
INSERT INTO released
SELECT number, kind, key FROM referred, session WHERE session.id = :id AND key IS NOT NULL"""

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
_IS_DELETED = "SELECT 1 FROM deleted_session WHERE digest = ?"
_FORGET = """
DELETE FROM deleted_session WHERE digest IN (SELECT digest FROM deleted_session WHERE arrival < ? LIMIT ?)"""

_KEYS = "DELETE FROM setting WHERE kind = 'session_key' AND json_extract(value_json, '$.session') = ?"


def delete_session(connection: sqlite3.Connection, session_id: str) -> None:
    """Delete a session's rows and keys; note the content to release and the number of its group.

    Runs in the caller's transaction.
    """
    connection.execute(_RELEASED, {"id": session_id})
    connection.execute(_KEYS, (session_id,))
    query = "SELECT group_id, tenant FROM session WHERE id = ?"
    group, tenant = connection.execute(query, (session_id,)).fetchone() or (None, None)
    if match := _NUMBERED.fullmatch(group or ""):
        for kind in {NUMBERING, numbering_of(tenant)}:
            connection.execute(_NUMBER, (kind, match[1], int(match[2]), time.time_ns() // 1000))
    connection.execute("DELETE FROM session WHERE id = ?", (session_id,))
    connection.execute(_DELETED, (_digest(session_id),))


def was_deleted(connection: sqlite3.Connection, session_id: str) -> bool:
    """Whether a session of this id was deleted of late. Its id itself is not kept."""
    return connection.execute(_IS_DELETED, (_digest(session_id),)).fetchone() is not None


def forget_deleted(connection: sqlite3.Connection, before: int, most: int) -> int:
    """Forget ids deleted before that moment of the store's time, `most` of them; return how many."""
    return connection.execute(_FORGET, (before, most)).rowcount


def _digest(session_id: str) -> bytes:
    return blake2b(session_id.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def sweep(connection: sqlite3.Connection, most: int) -> int:
    """Release about `most` pieces of the content of deleted sessions; return how many, 0 when done.

    Runs in the caller's transaction with foreign keys off.
    """
    released = connection.execute("SELECT session, kind, key FROM released LIMIT ?", (most,)).fetchall()
    done = 0
    for session, kind, key in released:
        connection.execute(
            "DELETE FROM released WHERE session = ? AND kind = ? AND key = ?", (session, kind, key)
        )
        done += _Release(connection, session).release(kind, key, most - done)
        if done >= most:
            break
    return done


@dataclass(frozen=True, slots=True)
class _Release:
    """Releases the content of one deleted session."""

    connection: sqlite3.Connection
    session: int

    def release(self, kind: int, key: bytes, most: int) -> int:
        """Release one key; return how many pieces were handled, at least 1."""
        if kind == CHAIN:
            return self._release_chain(key, max(most, 1))
        if kind == FRAME:
            self._release_frame(key)
        else:
            self._release_block(key)
        return 1

    def _release_chain(self, tip: bytes, most: int) -> int:
        """Release a chain from its tip towards the root, as far as the session uses it. The rest is queued
        again.
        """
        node: bytes | None = tip
        for done in range(most):
            found = self._fetch_one("SELECT owner, parent, block FROM chain WHERE key = ?", node)
            if found is None:
                return done + 1
            owner, parent, block = found
            if not self._release_piece(CHAIN, "chain", "key", node, owner):
                return done + 1
            self._release_block(block)
            node = parent
            if node is None:
                return done + 1
        self.connection.execute(
            "INSERT INTO released VALUES (?, ?, ?) ON CONFLICT DO NOTHING", (self.session, CHAIN, node)
        )
        return most

    def _release_frame(self, key: bytes) -> None:
        pieces = self.connection.execute("SELECT owner, block FROM frame WHERE key = ?", (key,)).fetchall()
        if pieces and self._release_piece(FRAME, "frame", "key", key, pieces[0][0]):
            for block in {block for _, block in pieces if block is not None}:
                self._release_block(block)

    def _release_block(self, block: bytes) -> None:
        found = self._fetch_one("SELECT owner FROM block WHERE hash = ?", block)
        if found is not None:
            self._release_piece(BLOCK, "block", "hash", block, found[0])

    def _release_piece(self, kind: int, table: str, name: str, key: bytes | None, owner: int | None) -> bool:
        """Release one piece; return whether the session used it until now."""
        run = self.connection.execute
        if owner != self.session:
            share = "DELETE FROM share WHERE kind = ? AND key = ? AND session = ?"
            return run(share, (kind, key, self.session)).rowcount > 0
        heir = self._fetch_one("SELECT min(session) FROM share WHERE kind = ? AND key = ?", kind, key)
        if heir is None or heir[0] is None:
            run(f"DELETE FROM {table} WHERE {name} = ?", (key,))
        else:
            run(f"UPDATE {table} SET owner = ? WHERE {name} = ?", (heir[0], key))
            run("DELETE FROM share WHERE kind = ? AND key = ? AND session = ?", (kind, key, heir[0]))
        return True

    def _fetch_one(self, query: str, *values: object) -> tuple[Any, ...] | None:
        row: tuple[Any, ...] | None = self.connection.execute(query, values).fetchone()
        return row
