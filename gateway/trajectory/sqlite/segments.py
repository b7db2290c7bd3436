"""The chain nodes, frames and blocks that one batch adds to the SQLite store, by session."""

from __future__ import annotations

import sqlite3
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Iterable
from operator import attrgetter
from typing import Any

import msgspec

from crosswind.gateway.trajectory.content import Chain, Frame, View, content_key
from crosswind.gateway.trajectory.store import RowRefused

EMPTY_FRAME = -1
"""The ordinal of the one row of a frame that has no pieces."""

PLAIN = b"\0"
"""The first byte of a plain view's frame key. The hash of its block follows; no frame is stored."""


class StaleContent(RowRefused):
    """Content was assumed to be stored for a session that was deleted meanwhile."""


_FRAMES_PER_SESSION = 4
_SESSION_BYTES, _FRAME_BYTES = 400, 250
"""What the entry of a session takes beside its frames, and a frame beside its pieces."""


class KnownFrames:
    """The last few frames of the sessions that wrote last, `capacity_bytes` of them in all.

    A turn need not hash and insert a frame again that its session is known to have stored.
    """

    def __init__(self, capacity_bytes: int = 16 * 2**20) -> None:
        self._capacity_bytes = capacity_bytes
        self._lock = threading.Lock()
        self._bytes = 0
        self._known: OrderedDict[str, tuple[int, tuple[tuple[Frame, bytes], ...]]] = OrderedDict()

    def find(self, session_id: str, frame: Frame) -> tuple[int, bytes] | None:
        """The session's number and the frame's key, if the session is known to have stored it."""
        entry = self._known.get(session_id)
        if entry is not None:
            for known, key in entry[1]:
                if known == frame:
                    return entry[0], key
        return None

    def add(self, session_id: str, number: int, frames: Iterable[tuple[Frame, bytes]]) -> None:
        """Remember frames that the session of this number has stored."""
        with self._lock:
            earlier = self._known.pop(session_id, (number, ()))
            self._bytes -= _entry_bytes(earlier[1])
            kept = earlier[1] if earlier[0] == number else ()
            entry = (*frames, *kept)[:_FRAMES_PER_SESSION]
            self._known[session_id] = number, entry
            self._bytes += _entry_bytes(entry)
            while self._bytes > self._capacity_bytes:
                _, (_, gone) = self._known.popitem(last=False)
                self._bytes -= _entry_bytes(gone)


def _entry_bytes(frames: Iterable[tuple[Frame, bytes]]) -> int:
    """What a session's entry takes in memory, about; 0 for none."""
    sizes = [_FRAME_BYTES + sum(len(piece) for piece in frame if piece is not None) for frame, _ in frames]
    return _SESSION_BYTES + sum(sizes) if sizes else 0


class _Use(msgspec.Struct):
    """The content of one session in a write, and the session numbers for which content is assumed to be
    stored.
    """

    nodes: dict[bytes, Chain] = msgspec.field(default_factory=dict)
    frames: dict[bytes, list[tuple[bytes, int, bytes | None]]] = msgspec.field(default_factory=dict)
    blocks: dict[bytes, bytes] = msgspec.field(default_factory=dict)
    trusted: set[int] = msgspec.field(default_factory=set)
    again: list[Chain] = msgspec.field(default_factory=list)
    """Other objects equal to a node in `nodes`."""
    frame_views: list[tuple[Frame, bytes]] = msgspec.field(default_factory=list)


class NewContent:
    """The content of one write that the store may not have yet, session by session.

    A session stores each piece once, even if another session stored an equal one, so that all users are
    known. Content known to be stored for a session is skipped: `known` remembers frames, each node remembers
    itself.
    """

    def __init__(self, known: KnownFrames, *, trust_stored: bool = True) -> None:
        self._known = known
        self._trust_stored = trust_stored
        self._uses: defaultdict[str, _Use] = defaultdict(_Use)
        self._numbers: dict[str, int] = {}

    def chain(self, session_id: str, chain: Chain | None) -> bytes | None:
        if chain is None:
            return None
        use = self._uses[session_id]
        nodes = use.nodes
        node: Chain | None = chain
        while node is not None:
            stored = node.stored
            if stored is not None and stored[0] == session_id and self._trust_stored:
                use.trusted.add(stored[1])
                break
            known = nodes.get(node.key)
            if known is node:
                break
            if known is None:
                nodes[node.key] = node
                use.blocks[node.block] = node.body
            else:
                use.again.append(node)
            node = node.parent
        return chain.key

    def view(self, session_id: str, view: View | None) -> tuple[bytes | None, bytes | None]:
        """Add a view; return the keys of its frame and of its chain."""
        if view is None:
            return None, None
        frame, chain = view.frame, view.chain
        if chain is not None:
            return self._frame_key(session_id, frame), self.chain(session_id, chain)
        if len(frame) == 1 and (body := frame[0]) is not None:
            block = content_key(body)
            self._uses[session_id].blocks[block] = body
            return PLAIN + block, None
        return self._new_frame(session_id, frame), None

    def _frame_key(self, session_id: str, frame: Frame) -> bytes:
        use = self._uses[session_id]
        for known, key in use.frame_views:
            if known == frame:
                return key
        if self._trust_stored and (found := self._known.find(session_id, frame)):
            number, key = found
            use.trusted.add(number)
            return key
        key = self._new_frame(session_id, frame)
        use.frame_views.append((frame, key))
        return key

    def _new_frame(self, session_id: str, frame: Frame) -> bytes:
        use = self._uses[session_id]
        hashes = [None if piece is None else content_key(piece) for piece in frame]
        key = content_key(b"".join(b"-" if block is None else b"+" + block for block in hashes))
        if key not in use.frames:
            rows = [(key, ordinal, block) for ordinal, block in enumerate(hashes)]
            use.frames[key] = rows or [(key, EMPTY_FRAME, None)]
            for block, piece in zip(hashes, frame, strict=True):
                if block is not None and piece is not None:
                    use.blocks[block] = piece
        return key

    def insert(self, connection: sqlite3.Connection) -> None:
        """Insert new blocks, then nodes (parents first), then frames. The sessions are inserted already.

        Raises StaleContent if content was skipped that was deleted with an earlier session of the same id.
        """
        numbers = self._numbers = session_numbers(connection, self._uses)
        for session_id, use in self._uses.items():
            if use.trusted and use.trusted != {numbers.get(session_id)}:
                raise StaleContent(f"session {session_id!r} was deleted meanwhile")
        owned = [
            (use, numbers[session_id]) for session_id, use in self._uses.items() if session_id in numbers
        ]
        _many(
            connection,
            "INSERT INTO block VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            [(block, body, number) for use, number in owned for block, body in use.blocks.items()],
        )
        _many(
            connection,
            "INSERT INTO chain VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            # Parents first, because nodes refer to them.
            [
                (node.key, node.parent.key if node.parent else None, node.block, node.depth, number)
                for use, number in owned
                for node in sorted(use.nodes.values(), key=_DEPTH)
            ],
        )
        _many(
            connection,
            "INSERT INTO frame VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
            [(*row, number) for use, number in owned for rows in use.frames.values() for row in rows],
        )

    def mark_stored(self) -> None:
        """Remember what is stored. Call this only once the transaction is on disk."""
        for session_id, use in self._uses.items():
            mark = (session_id, self._numbers[session_id])
            for node in use.nodes.values():
                node.stored = mark
            for node in use.again:
                node.stored = mark
            if use.frame_views:
                self._known.add(*mark, use.frame_views)


_DEPTH = attrgetter("depth")


def _many(connection: sqlite3.Connection, statement: str, rows: list[tuple[Any, ...]]) -> None:
    if rows:
        connection.executemany(statement, rows)


def session_numbers(connection: sqlite3.Connection, session_ids: Iterable[str]) -> dict[str, int]:
    found = {}
    for session_id in session_ids:
        row = connection.execute("SELECT number FROM session WHERE id = ?", (session_id,)).fetchone()
        if row is not None:
            found[session_id] = row[0]
    return found
