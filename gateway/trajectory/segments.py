"""Content in SQLite: the chain nodes, frames and blocks that a batch brings, and how they are read back."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from gateway.trajectory.content import Chain, View, content_key

_WALK = """
WITH RECURSIVE node (key, parent, block, depth) AS (
  SELECT key, parent, block, depth FROM chain WHERE key IN ({tips})
  UNION
  SELECT chain.key, chain.parent, chain.block, chain.depth FROM node JOIN chain ON chain.key = node.parent
)
SELECT node.key, node.parent, block.body FROM node JOIN block ON block.hash = node.block ORDER BY node.depth
"""
_AT_ONCE = 500
"""Keys per query: below every SQLite's limit on parameters."""

EMPTY_FRAME = -1
"""The ordinal of the one row of a frame that has no pieces."""


class NewContent:
    """The content of one write that the store may not have yet, without the nodes marked as stored."""

    def __init__(self, *, trust_stored: bool = True) -> None:
        self._trust_stored = trust_stored
        self._frames: dict[bytes, list[tuple[bytes, int, bytes | None]]] = {}
        self._blocks: dict[bytes, bytes] = {}
        self._nodes: dict[bytes, Chain] = {}
        self._seen: list[Chain] = []

    def chain(self, chain: Chain | None) -> bytes | None:
        """Take in a chain; returns its key."""
        if chain is None:
            return None
        for node in chain.nodes():
            if node.stored and self._trust_stored:
                break
            known = self._nodes.get(node.key)
            if known is node:
                break
            self._seen.append(node)  # an equal node of another object is to be marked as well
            if known is None:
                self._nodes[node.key] = node
                self._blocks[node.block] = node.body
        return chain.key

    def view(self, view: View | None) -> tuple[bytes | None, bytes | None]:
        """Take in a view; returns the keys of its frame and of its chain."""
        if view is None:
            return None, None
        hashes = [None if piece is None else content_key(piece) for piece in view.frame]
        frame = content_key(b"".join(b"-" if block is None else b"+" + block for block in hashes))
        if frame not in self._frames:
            rows = [(frame, ordinal, block) for ordinal, block in enumerate(hashes)]
            self._frames[frame] = rows or [(frame, EMPTY_FRAME, None)]
            self._blocks.update(
                (block, piece)
                for block, piece in zip(hashes, view.frame, strict=True)
                if block is not None and piece is not None
            )
        return frame, self.chain(view.chain)

    def insert(self, connection: sqlite3.Connection) -> None:
        """Insert what is new: blocks, then nodes (parents first), then frames."""
        if self._blocks:
            connection.executemany(
                "INSERT INTO block VALUES (?, ?) ON CONFLICT DO NOTHING", self._blocks.items()
            )
        if self._nodes:
            nodes = sorted(self._nodes.values(), key=lambda node: node.depth)
            connection.executemany(
                "INSERT INTO chain VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
                [
                    (node.key, node.parent.key if node.parent else None, node.block, node.depth)
                    for node in nodes
                ],
            )
        if self._frames:
            connection.executemany(
                "INSERT INTO frame VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                [row for rows in self._frames.values() for row in rows],
            )

    def committed(self) -> None:
        """Mark the nodes as stored: only once the transaction is on disk."""
        for node in self._seen:
            node.stored = True


class StoredContent:
    """Content read back for a set of turns; chains share their common nodes."""

    def __init__(
        self, connection: sqlite3.Connection, frames: Iterable[bytes | None], tips: Iterable[bytes | None]
    ) -> None:
        self._chains: dict[bytes, Chain] = {}
        self._frames: dict[bytes, list[bytes | None]] = {}
        for part in _parts(tips):
            for key, parent, body in connection.execute(_WALK.format(tips=_marks(part)), part):
                if key not in self._chains:
                    node = Chain(self._chains[parent] if parent else None, body)
                    node.stored = True
                    self._chains[key] = node
        for part in _parts(frames):
            query = (
                "SELECT frame.key, ordinal, body FROM frame LEFT JOIN block ON block.hash = frame.block "
                f"WHERE frame.key IN ({_marks(part)}) ORDER BY frame.key, frame.ordinal"
            )
            for key, ordinal, body in connection.execute(query, part):
                pieces = self._frames.setdefault(key, [])
                if ordinal != EMPTY_FRAME:
                    pieces.append(body)

    def chain(self, key: bytes | None) -> Chain | None:
        return None if key is None else self._chains[key]

    def view(self, frame: bytes | None, chain: bytes | None) -> View | None:
        return None if frame is None else View(tuple(self._frames[frame]), self.chain(chain))


def _marks(keys: Sequence[bytes]) -> str:
    return ", ".join("?" * len(keys))


def _parts(keys: Iterable[bytes | None]) -> list[list[bytes]]:
    """The distinct keys in lists that one query can take."""
    known = list(dict.fromkeys(key for key in keys if key is not None))
    return [known[at : at + _AT_ONCE] for at in range(0, len(known), _AT_ONCE)]
