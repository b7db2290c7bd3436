"""Integrity check of a store: SQLite's own checks, every hash recomputed, every reference followed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any

from crosswind.gateway.trajectory.content import content_key
from crosswind.gateway.trajectory.sqlite.deletion import BLOCK, CHAIN, FRAME
from crosswind.gateway.trajectory.sqlite.orphans import USED, find_orphans
from crosswind.gateway.trajectory.sqlite.segments import EMPTY_FRAME, PLAIN

_MOST = 1000
"""Problems to list; further ones are only counted."""
_VIEWS = ("received", "sent", "produced", "delivered")
_UNOWNED = {
    "chain node": """
    SELECT session, key FROM node JOIN chain USING (key) WHERE owner IS NOT session AND NOT EXISTS (
      SELECT 1 FROM share WHERE kind = 1 AND share.key = node.key AND share.session = node.session)""",
    "frame": """
    SELECT DISTINCT session, key FROM shell JOIN frame USING (key) WHERE owner IS NOT session AND NOT EXISTS (
      SELECT 1 FROM share WHERE kind = 2 AND share.key = shell.key AND share.session = shell.session)""",
    "block": """
    SELECT session, hash FROM piece JOIN block USING (hash) WHERE owner IS NOT session AND NOT EXISTS (
      SELECT 1 FROM share WHERE kind = 0 AND share.key = piece.hash AND share.session = piece.session)""",
}
# Only what turns refer to: orphans still to be swept may refer to content that was swept already.
_CHAINS = f"""{USED}
SELECT link.key, link.parent, link.block, link.depth, above.depth, above.key IS NULL, block.hash IS NULL
FROM chain AS link
LEFT JOIN chain AS above ON above.key = link.parent
LEFT JOIN block ON block.hash = link.block
WHERE link.key IN (SELECT key FROM node)"""
_FRAMES = f"""{USED}
SELECT key, ordinal, block, block IS NOT NULL AND hash IS NULL FROM frame LEFT JOIN block ON hash = block
WHERE key IN (SELECT key FROM shell) ORDER BY key, ordinal"""
_REFERRING = ("turn", "completion", "delivery", "event", "shown", "name_map", "generated_text", "reward")


@dataclass(slots=True)
class VerificationReport:
    """The result of a check of a whole store."""

    problems: list[str] = field(default_factory=list)
    """The first thousand problems, one line each."""
    more: int = 0
    """The number of further problems."""
    checked: dict[str, int] = field(default_factory=dict)
    orphans: dict[str, int] = field(default_factory=dict)
    """Content that no turn refers to, left over from deleted sessions. Harmless; `prune` deletes it."""

    @property
    def whole(self) -> bool:
        return not self.problems

    def add(self, problem: str) -> None:
        if len(self.problems) < _MOST:
            self.problems.append(problem)
        else:
            self.more += 1


def verify_store(connection: sqlite3.Connection) -> VerificationReport:
    """Check the whole store in the caller's snapshot. The report contains no content."""
    report = VerificationReport()
    for (line,) in connection.execute("PRAGMA integrity_check"):
        if line != "ok":
            report.add(f"SQLite: {line}")
    for table in _REFERRING:
        for _, row, parent, _ in connection.execute(f"PRAGMA foreign_key_check({table})"):
            report.add(f"{table} row {row} refers to a {parent} row that is missing")
    for name, check in (
        ("blocks", _check_blocks),
        ("chain_nodes", _check_chains),
        ("frames", _check_frames),
        ("turns", _check_turns),
    ):
        report.checked[name] = 0
        for problem in check(connection):
            report.checked[name] += 1
            if problem is not None:
                report.add(problem)
    for what, query in _UNOWNED.items():
        for session, key in connection.execute(f"{USED} {query}"):
            report.add(f"{what} {key.hex()}: session number {session} uses it and isn't noted as a user")
    for kind, name in ((CHAIN, "chain_nodes"), (FRAME, "frames"), (BLOCK, "blocks")):
        report.orphans[name] = len(find_orphans(connection, kind))
    report.orphans["to_be_swept"] = connection.execute("SELECT count(*) FROM released").fetchone()[0]
    return report


def _check_blocks(connection: sqlite3.Connection) -> Iterator[str | None]:
    for block, body in connection.execute("SELECT hash, body FROM block"):
        good = isinstance(body, bytes) and content_key(body) == block
        yield None if good else f"block {block.hex()}: its body has another hash"


def _check_chains(connection: sqlite3.Connection) -> Iterator[str | None]:
    for key, parent, block, depth, above, no_parent, no_block in connection.execute(_CHAINS):
        if content_key((parent or b"") + block) != key:
            yield f"chain node {key.hex()}: its parent and block have another hash"
        elif parent is not None and no_parent:
            yield f"chain node {key.hex()}: its parent {parent.hex()} is missing"
        elif no_block:
            yield f"chain node {key.hex()}: its block {block.hex()} is missing"
        elif depth != (above or 0) + 1:
            yield f"chain node {key.hex()}: its depth is {depth} and its parent's {above or 0}"
        else:
            yield None


def _check_frames(connection: sqlite3.Connection) -> Iterator[str | None]:
    for key, rows in groupby(connection.execute(_FRAMES), itemgetter(0)):
        yield _check_frame(key, [piece for _, *piece in rows])


def _check_frame(key: bytes, pieces: list[list[Any]]) -> str | None:
    if any(missing for _, _, missing in pieces):
        return f"frame {key.hex()}: a block of it is missing"
    if [ordinal for ordinal, _, _ in pieces] == [EMPTY_FRAME]:
        pieces = []
    elif [ordinal for ordinal, _, _ in pieces] != list(range(len(pieces))):
        return f"frame {key.hex()}: a piece of it is missing"
    whole = b"".join(b"-" if block is None else b"+" + block for _, block, _ in pieces)
    return None if content_key(whole) == key else f"frame {key.hex()}: its pieces have another hash"


def _check_turns(connection: sqlite3.Connection) -> Iterator[str | None]:
    views = ", ".join(f"{view}_frame, {view}_chain" for view in _VIEWS)
    for session_id, index, attempt, prompt, *keys in connection.execute(
        f"SELECT session_id, turn_index, attempt, prompt_chain, {views} FROM turn"
    ):
        wrong = [
            f"{view} view: {problem}"
            for at, view in enumerate(_VIEWS)
            if (problem := _find_view_problem(connection, keys[2 * at], keys[2 * at + 1]))
        ]
        if prompt is not None and not _is_there(connection, "chain", "key", prompt):
            wrong.append(f"prompt chain {prompt.hex()} is missing")
        yield (
            f"turn {index} (attempt {attempt}) of session {session_id!r}: {'; '.join(wrong)}"
            if wrong
            else None
        )


def _find_view_problem(
    connection: sqlite3.Connection, frame: bytes | None, chain: bytes | None
) -> str | None:
    if frame is None:
        return None if chain is None else "a chain without a frame"
    if frame[:1] == PLAIN and len(frame) == 17:
        return (
            None
            if _is_there(connection, "block", "hash", frame[1:])
            else f"block {frame[1:].hex()} is missing"
        )
    pieces = [block for (block,) in connection.execute("SELECT block FROM frame WHERE key = ?", (frame,))]
    if not pieces:
        return f"frame {frame.hex()} is missing"
    if chain is not None and not _is_there(connection, "chain", "key", chain):
        return f"chain {chain.hex()} is missing"
    return None


def _is_there(connection: sqlite3.Connection, table: str, name: str, key: bytes) -> bool:
    return connection.execute(f"SELECT 1 FROM {table} WHERE {name} = ?", (key,)).fetchone() is not None
