"""Reads the frames and chains of a set of turns from SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import TypeVar

from crosswind.gateway.trajectory.content import KEY_BYTES, Chain, View, content_key

T = TypeVar("T")

EMPTY_FRAME = -1
"""The ordinal of the one row of a frame that has no pieces."""
PLAIN = b"\0"
"""The first byte of a plain view's frame key. The hash of its block follows; no frame is stored."""
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


class StoredContent:
    """The content of a set of turns. Chains share their common nodes.

    Raises KeyError or ValueError where a piece is missing or isn't what its hash says. No cursor is left open
    then: it would keep the store locked.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        frames: Iterable[bytes | None],
        tips: Iterable[bytes | None],
    ) -> None:
        self._chains: dict[bytes, Chain] = {}
        self._frames: dict[bytes, list[bytes | None]] = {}
        for part in _parts(tips):
            for key, parent, body in connection.execute(_WALK.format(tips=_marks(part)), part).fetchall():
                if key not in self._chains:
                    node = Chain(self._chains[parent] if parent else None, body)
                    self._chains[key] = _require_key(key, node.key, node)
        for part in _parts(frames):
            query = (
                "SELECT frame.key, ordinal, body FROM frame LEFT JOIN block ON block.hash = frame.block "
                f"WHERE frame.key IN ({_marks(part)}) ORDER BY frame.key, frame.ordinal"
            )
            for key, ordinal, body in connection.execute(query, part).fetchall():
                pieces = self._frames.setdefault(key, [])
                if ordinal != EMPTY_FRAME:
                    pieces.append(body)
            plain = [key[1:] for key in part if len(key) > KEY_BYTES]
            query = f"SELECT hash, body FROM block WHERE hash IN ({_marks(plain)})"
            for block, body in connection.execute(query, plain).fetchall():
                self._frames[PLAIN + block] = [_require_key(block, content_key(body), body)]
        for key, pieces in self._frames.items():
            if len(key) == KEY_BYTES:
                hashes = [b"-" if piece is None else b"+" + content_key(piece) for piece in pieces]
                _require_key(key, content_key(b"".join(hashes)), pieces)

    def chain(self, key: bytes | None) -> Chain | None:
        return None if key is None else self._chains[key]

    def view(self, frame: bytes | None, chain: bytes | None) -> View | None:
        return None if frame is None else View(tuple(self._frames[frame]), self.chain(chain))


def _require_key(key: bytes, found: bytes, content: T) -> T:
    if found != key:
        raise ValueError(f"content {key.hex()} isn't what it was")
    return content


def _marks(keys: Sequence[bytes]) -> str:
    return ", ".join("?" * len(keys))


def _parts(keys: Iterable[bytes | None]) -> list[list[bytes]]:
    """Split the distinct keys into lists that fit one query."""
    known = list(dict.fromkeys(key for key in keys if key is not None))
    return [known[at : at + _AT_ONCE] for at in range(0, len(known), _AT_ONCE)]
