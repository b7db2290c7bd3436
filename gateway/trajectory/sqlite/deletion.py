"""Deleting sessions with their content, at a cost of what they referred to.

A piece of content belongs to the session that brought it first, and `share` names every other session that
brought it too. Deleting a session notes what its turns referred to in `released`, in the same transaction;
`sweep` then gives that up piece by piece: a piece that others share passes to one of them, any other goes.
Where a process dies in between, the next sweep goes on.

A sweep deletes with foreign keys off, because SQLite would look through whole tables for references.
"""

from __future__ import annotations

import re
import sqlite3
import time
from dataclasses import dataclass
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
"""The kind of the settings that hold, by what the ids of groups begin with, the highest number that a deleted
session's group had (`train-0-00012`: 12 by `train-0-`): numbers that were used up aren't given again.
"""
_NUMBERED = re.compile(r"(.*-)([0-9]{1,15})", re.DOTALL)
_NUMBER = """
INSERT INTO setting (kind, name, value_json, updated_us) VALUES (?, ?, json_object('highest', ?), ?)
ON CONFLICT DO UPDATE SET value_json = excluded.value_json, updated_us = excluded.updated_us
WHERE json_extract(excluded.value_json, '$.highest') > json_extract(value_json, '$.highest')"""

_KEYS = "DELETE FROM setting WHERE kind = 'session_key' AND json_extract(value_json, '$.session') = ?"


def delete_session(connection: sqlite3.Connection, session_id: str) -> None:
    """Delete a session's rows and its keys, and note what content they referred to and its group's number.

    Within the caller's transaction.
    """
    connection.execute(_RELEASED, {"id": session_id})
    connection.execute(_KEYS, (session_id,))
    found = connection.execute("SELECT group_id FROM session WHERE id = ?", (session_id,)).fetchone()
    if found is not None and (match := _NUMBERED.fullmatch(found[0] or "")):
        connection.execute(_NUMBER, (NUMBERING, match[1], int(match[2]), time.time_ns() // 1000))
    connection.execute("DELETE FROM session WHERE id = ?", (session_id,))


def sweep(connection: sqlite3.Connection, most: int) -> int:
    """Give up about `most` pieces of what deleted sessions referred to; returns how many, 0 once all is done.

    Within the caller's transaction, foreign keys off.
    """
    released = connection.execute("SELECT session, kind, key FROM released LIMIT ?", (most,)).fetchall()
    done = 0
    for session, kind, key in released:
        connection.execute(
            "DELETE FROM released WHERE session = ? AND kind = ? AND key = ?", (session, kind, key)
        )
        done += _Release(connection, session).give_up(kind, key, most - done)
        if done >= most:
            break
    return done


@dataclass(frozen=True, slots=True)
class _Release:
    """Gives content up for one deleted session."""

    connection: sqlite3.Connection
    session: int

    def give_up(self, kind: int, key: bytes, most: int) -> int:
        """Returns how many pieces were handled: 1 at least."""
        if kind == CHAIN:
            return self._chain(key, max(most, 1))
        if kind == FRAME:
            self._frame(key)
        else:
            self._block(key)
        return 1

    def _chain(self, tip: bytes, most: int) -> int:
        """From a tip towards the root, as far as the session is known to use it; the rest is noted again."""
        node: bytes | None = tip
        for done in range(most):
            found = self._one("SELECT owner, parent, block FROM chain WHERE key = ?", node)
            if found is None:
                return done + 1
            owner, parent, block = found
            if not self._piece(CHAIN, "chain", "key", node, owner):
                return done + 1
            self._block(block)
            node = parent
            if node is None:
                return done + 1
        self.connection.execute(
            "INSERT INTO released VALUES (?, ?, ?) ON CONFLICT DO NOTHING", (self.session, CHAIN, node)
        )
        return most

    def _frame(self, key: bytes) -> None:
        pieces = self.connection.execute("SELECT owner, block FROM frame WHERE key = ?", (key,)).fetchall()
        if pieces and self._piece(FRAME, "frame", "key", key, pieces[0][0]):
            for block in {block for _, block in pieces if block is not None}:
                self._block(block)

    def _block(self, block: bytes) -> None:
        found = self._one("SELECT owner FROM block WHERE hash = ?", block)
        if found is not None:
            self._piece(BLOCK, "block", "hash", block, found[0])

    def _piece(self, kind: int, table: str, name: str, key: bytes | None, owner: int | None) -> bool:
        """Give up one piece; returns whether the session used it until now."""
        run = self.connection.execute
        if owner != self.session:
            share = "DELETE FROM share WHERE kind = ? AND key = ? AND session = ?"
            return run(share, (kind, key, self.session)).rowcount > 0
        heir = self._one("SELECT min(session) FROM share WHERE kind = ? AND key = ?", kind, key)
        if heir is None or heir[0] is None:
            run(f"DELETE FROM {table} WHERE {name} = ?", (key,))
        else:
            run(f"UPDATE {table} SET owner = ? WHERE {name} = ?", (heir[0], key))
            run("DELETE FROM share WHERE kind = ? AND key = ? AND session = ?", (kind, key, heir[0]))
        return True

    def _one(self, query: str, *values: object) -> tuple[Any, ...] | None:
        row: tuple[Any, ...] | None = self.connection.execute(query, values).fetchone()
        return row
