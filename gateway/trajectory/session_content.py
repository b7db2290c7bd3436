"""The content of a session's turns as differences to earlier ones: how it is written and read back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from crosswind.gateway.trajectory.content import Chain, Frame, View
from crosswind.gateway.trajectory.record import Turn
from crosswind.gateway.trajectory.turn_body import (
    DELIVERED,
    PRODUCED,
    PROMPT,
    RECEIVED,
    SENT,
    DamagedBody,
    Place,
    Reference,
    StoredChain,
    StoredView,
    TurnBody,
)

Tips = dict[bytes, Reference]
"""Chains by their keys."""

_FRAMES = 4
"""How many frames of a session are remembered, the last ones."""
_SESSION_BYTES, _TIP_BYTES, _FRAME_BYTES = 600, 200, 250
"""What a session takes in memory, a chain, and a frame beside its pieces."""


class KnownContent:
    """What a session is known to have stored: chains by their keys, turns, and its last frames."""

    __slots__ = ("bytes", "frames", "number", "places", "row", "seen", "tips")

    def __init__(self, number: int) -> None:
        self.number = number
        self.tips: Tips = {}
        self.frames: tuple[tuple[Frame, Reference], ...] = ()
        self.places: set[int] = set()
        """The indexes of known turns."""
        self.row = 0
        """Every turn up to this row is known."""
        self.seen = 0
        """The state of the store in which the session was there, if other processes have written since."""
        self.bytes = _SESSION_BYTES

    def learn(self, place: Place, received: bytes | None, sent: bytes | None, prompt: bytes | None) -> None:
        """Add a stored turn by the keys of its chains."""
        self.places.add(place[0])
        for key, which in ((received, RECEIVED), (sent, SENT), (prompt, PROMPT)):
            if key is not None and key not in self.tips:
                self.tips[key] = (*place, which)
                self.bytes += _TIP_BYTES

    def merge(self, new: ContentWriter) -> None:
        """Add what was written; call this once it is on disk."""
        self.tips |= new.tips
        self.places |= new.places
        self.frames = (*new.frames, *self.frames)[:_FRAMES]
        pieces = [len(piece) for frame, _ in self.frames for piece in frame if piece is not None]
        self.bytes = (
            _SESSION_BYTES + _TIP_BYTES * len(self.tips) + _FRAME_BYTES * len(self.frames) + sum(pieces)
        )


class ContentWriter:
    """Encodes the content of turns of one session that are written in one transaction.

    `load_tips` adds what other processes have stored to `known`; it is called at most once.
    """

    __slots__ = ("_known", "_load_tips", "frames", "places", "tips")

    def __init__(self, known: KnownContent, load_tips: Callable[[KnownContent], None] | None) -> None:
        self._known = known
        self._load_tips = load_tips
        self.tips: Tips = {}
        self.frames: list[tuple[Frame, Reference]] = []
        self.places: set[int] = set()

    @property
    def known(self) -> KnownContent:
        return self._known

    def expect(self, parent: int | None) -> None:
        """Look for the turn that the next one continues, if it isn't known: another process has stored it."""
        if parent is not None and parent not in self._known.places and parent not in self.places:
            self._refresh()

    def _refresh(self) -> bool:
        load, self._load_tips = self._load_tips, None
        if load is not None:
            load(self._known)
        return load is not None

    def add(self, turn: Turn) -> None:
        """Remember a turn that was inserted, for the next ones of the same transaction."""
        place = turn.index, turn.attempt
        self.places.add(turn.index)
        received, sent = turn.received, turn.sent
        for which, view in ((RECEIVED, received), (SENT, sent)):
            if view is not None and view.chain is not None:
                at = (*place, which)
                self.tips.setdefault(view.chain.key, at)
                if self._find_frame(view.frame) is None:
                    self.frames.insert(0, (view.frame, at))
        if turn.prompt_ids is not None:
            self.tips.setdefault(turn.prompt_ids.key, (*place, PROMPT))

    def _find_frame(self, frame: Frame) -> Reference | None:
        for frames in (self.frames, self._known.frames):
            for known, at in frames:
                if known == frame:
                    return at
        return None

    def view(
        self, view: View | None, own: Reference, beside: View | None = None
    ) -> StoredView | bytes | None:
        """The stored form of a view; `beside` is the turn's received one, where this is another."""
        if view is None:
            return None
        frame, chain = view.frame, view.chain
        if chain is None:
            if len(frame) == 1 and frame[0] is not None:
                return frame[0]
            return StoredView(None, list(frame), None)
        same, pieces = self._frame(frame, own, beside)
        return StoredView(same, pieces, self.chain(chain, own, beside.chain if beside else None))

    def _frame(
        self, frame: Frame, own: Reference, beside: View | None
    ) -> tuple[Reference | None, list[bytes | bool | None] | None]:
        if beside is not None and beside.chain is not None and beside.frame == frame:
            return (own[0], own[1], RECEIVED), None
        if (known := self._find_frame(frame)) is not None:
            return known, None
        for frames in (self.frames, self._known.frames):
            for like, at in frames:
                if len(like) == len(frame):
                    pieces = [
                        True if b is not None and a == b else b for a, b in zip(like, frame, strict=True)
                    ]
                    if True in pieces:
                        return at, pieces
        return None, list(frame)

    def chain(self, chain: Chain, own: Reference, beside: Chain | None = None) -> StoredChain:
        """The stored form of a chain; `beside` is the turn's received one, where this is another."""
        base, nodes = self._walk(chain, own, beside)
        if base is None and chain.parent is not None and self._refresh():
            base, nodes = self._walk(chain, own, beside)
        if beside is None:
            return StoredChain(base, [node.body for node in reversed(nodes)])
        return StoredChain(base, _differences(nodes, beside))

    def _walk(
        self, chain: Chain, own: Reference, beside: Chain | None
    ) -> tuple[Reference | None, list[Chain]]:
        """The nearest stored ancestor, and the nodes behind it, newest first."""
        new, known = self.tips, self._known.tips
        nodes: list[Chain] = []
        node: Chain | None = chain
        while node is not None:
            key = node.key
            base = known.get(key) or new.get(key)
            if base is not None:
                return base, nodes
            if beside is not None and key == beside.key:
                return (own[0], own[1], RECEIVED), nodes
            nodes.append(node)
            node = node.parent
        return None, nodes


def _differences(nodes: list[Chain], beside: Chain) -> list[int | bytes]:
    """The bodies of nodes, given newest first, as differences to another chain, oldest first."""
    other: Chain | None = beside
    found: list[int | bytes] = []
    same = 0
    for node in nodes:
        depth = node.depth
        while other is not None and other.depth > depth:
            other = other.parent
        if other is not None and other.depth == depth and other.block == node.block:
            same += 1
            continue
        if same:
            found.append(same)
            same = 0
        found.append(node.body)
    if same:
        found.append(same)
    found.reverse()
    return found


class TurnContent(msgspec.Struct, frozen=True):
    """The content of a turn, as it was before it was written."""

    received: View | None
    sent: View | None
    produced: View | None
    delivered: View | None
    prompt: Chain | None


class ContentReader:
    """Rebuilds the content of a session's turns. Their chains share nodes.

    `fetch` gives the body of a turn that another one refers to; None if it isn't there.
    """

    def __init__(self, fetch: Callable[[Place], TurnBody | None]) -> None:
        self._fetch = fetch
        self._read: dict[Place, TurnContent] = {}

    def read(self, place: Place, body: TurnBody) -> TurnContent:
        """The content of a turn. Raises DamagedBody where a reference leads nowhere."""
        waiting = {place: body}
        while waiting:
            at, next_body = next(reversed(waiting.items()))
            places = (wanted[:2] for wanted in next_body.references())
            missing = next((one for one in places if one != at and one not in self._read), None)
            if missing is None:
                self._read[at] = _Builder(at, self._read).build(next_body)
                del waiting[at]
                continue
            found = None if missing in waiting else self._fetch(missing)
            if found is None:
                raise DamagedBody(f"it refers to turn {missing[0]}, attempt {missing[1]}, which isn't there")
            waiting[missing] = found
        return self._read[place]


class _Builder:
    """Builds one turn's content from what it refers to."""

    def __init__(self, place: Place, read: dict[Place, TurnContent]) -> None:
        self._place = place
        self._read = read
        self._own: dict[int, Any] = {}

    def build(self, body: TurnBody) -> TurnContent:
        received = self._own[RECEIVED] = self._view(body.received, None)
        beside = received.chain if received is not None else None
        sent = received if body.sent is True else self._view(body.sent, beside)
        self._own[SENT] = sent
        produced, delivered = self._view(body.produced, None), self._view(body.delivered, None)
        prompt = None if body.prompt is None else self._chain(body.prompt, None)
        return TurnContent(received, sent, produced, delivered, prompt)

    def _view(self, stored: StoredView | bytes | bool | None, beside: Chain | None) -> View | None:
        if isinstance(stored, bytes):
            return View.plain(stored)
        if not isinstance(stored, StoredView):
            return None
        frame = self._frame(stored)
        chain = None if stored.chain is None else self._chain(stored.chain, beside)
        try:
            return View(frame, chain)
        except ValueError as error:
            raise DamagedBody(str(error)) from error

    def _frame(self, stored: StoredView) -> Frame:
        if stored.frame is None:
            return tuple(_piece(piece, None) for piece in stored.pieces or ())
        view = self._find(stored.frame)
        if not isinstance(view, View):
            raise DamagedBody("it refers to a frame that isn't there")
        if stored.pieces is None:
            return view.frame
        if len(view.frame) != len(stored.pieces):
            raise DamagedBody("it refers to a frame of another length")
        return tuple(_piece(piece, same) for piece, same in zip(stored.pieces, view.frame, strict=True))

    def _chain(self, stored: StoredChain, beside: Chain | None) -> Chain:
        chain: Chain | None = None
        if stored.base is not None:
            found = self._find(stored.base)
            chain = found.chain if isinstance(found, View) else found
            if chain is None:
                raise DamagedBody("it refers to a chain that isn't there")
        depth = chain.depth if chain is not None else 0
        others = _bodies(beside, depth) if any(isinstance(one, int) for one in stored.segments) else []
        at = 0
        for segment in stored.segments:
            if isinstance(segment, bytes):
                chain, at = Chain(chain, segment), at + 1
                continue
            if at + segment > len(others):
                raise DamagedBody("it refers to more of the received messages than there are")
            for other in others[at : at + segment]:
                chain = Chain(chain, other.body, block=other.block)
            at += segment
        if chain is None:
            raise DamagedBody("a chain has no segments")
        return chain

    def _find(self, wanted: Reference) -> Any:
        which = wanted[2]
        if wanted[:2] == self._place:
            return self._own.get(which)
        content = self._read[wanted[:2]]
        if which == PROMPT:
            return content.prompt
        return {
            RECEIVED: content.received,
            SENT: content.sent,
            PRODUCED: content.produced,
            DELIVERED: content.delivered,
        }.get(which)


def _bodies(chain: Chain | None, depth: int) -> list[Chain]:
    """The chain's nodes below this depth, oldest first."""
    nodes = []
    while chain is not None and chain.depth > depth:
        nodes.append(chain)
        chain = chain.parent
    nodes.reverse()
    return nodes


def _piece(piece: bytes | bool | None, same: bytes | None) -> bytes | None:
    if isinstance(piece, bytes):
        return piece
    if piece is None:
        return None
    if same is None:
        raise DamagedBody("it refers to a piece that isn't there")
    return same
