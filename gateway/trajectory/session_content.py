"""The content of a session's turns as differences to earlier ones: how it is written and read back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from crosswind.gateway.trajectory.content import Chain, Frame, View
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
NewChain = tuple[Reference | None, list[int | bytes]]
"""The fields of a StoredChain: tuples are made and encoded in half the time."""
NewView = tuple[Reference | None, list[bytes | bool | None] | None, NewChain | None]
"""The fields of a StoredView."""

_FRAMES = 4
"""How many frames of a session are remembered, the last ones."""
_SESSION_BYTES, _TIP_BYTES, _FRAME_BYTES = 600, 200, 250
"""What a session takes in memory, a chain, and a frame beside its pieces."""


class SessionContent:
    """What a session is known to have stored: chains by their keys, turns, and its last frames. It encodes
    the content of the next turns as differences to that.

    A turn that was encoded counts as stored. Drop the object where the turn's transaction fails.
    """

    __slots__ = ("bytes", "frames", "last", "load", "number", "places", "row", "seen", "tips")

    def __init__(self, number: int, load: Callable[[SessionContent], None] | None = None) -> None:
        self.number = number
        self.tips: Tips = {}
        self.frames: tuple[tuple[Frame, Reference], ...] = ()
        self.places: set[int] = set()
        """The indexes of known turns."""
        self.row = 0
        """Every turn up to this row is known."""
        self.last: tuple[Place, int] | None = None
        """The turn that was inserted last, and its row."""
        self.seen = 0
        """The state of the store in which the session was there, if other processes have written since."""
        self.bytes = _SESSION_BYTES
        """What it takes in memory."""
        self.load = load
        """Adds what other processes have stored; it is called at most once in a transaction."""

    def learn(self, place: Place, received: bytes | None, sent: bytes | None, prompt: bytes | None) -> None:
        """Add a stored turn by the keys of its chains."""
        self.places.add(place[0])
        for key, which in ((received, RECEIVED), (sent, SENT), (prompt, PROMPT)):
            if key is not None and key not in self.tips:
                self.tips[key] = (*place, which)
                self.bytes += _TIP_BYTES

    def begin(self, index: int, parent: int | None) -> None:
        """Begin to encode a turn. If the one that it continues isn't known, another process has stored it."""
        places = self.places
        if parent is not None and parent not in places:
            self._refresh()
        places.add(index)

    def _refresh(self) -> bool:
        load, self.load = self.load, None
        if load is not None:
            load(self)
        return load is not None

    def view(self, view: View | None, own: Reference, beside: View | None = None) -> NewView | bytes | None:
        """The stored form of a view; `beside` is the turn's received one, where this is another."""
        if view is None:
            return None
        frame, chain = view.frame, view.chain
        if chain is None:
            if len(frame) == 1 and frame[0] is not None:
                return frame[0]
            return None, list(frame), None
        if beside is None or beside.chain is None:
            return *self._frame(frame, own), self.chain(chain, own)
        if beside.frame == frame:
            return (own[0], own[1], RECEIVED), None, self.chain(chain, own, beside.chain)
        return *self._frame(frame, own), self.chain(chain, own, beside.chain)

    def _frame(
        self, frame: Frame, own: Reference
    ) -> tuple[Reference | None, list[bytes | bool | None] | None]:
        """The frame that this one is equal to or shares pieces with, and its pieces."""
        for known, at in self.frames:
            if known == frame:
                return at, None
        like, pieces = self._find_like(frame)
        frames = self.frames = ((frame, own), *self.frames)[:_FRAMES]
        held = sum([len(piece) for kept, _ in frames for piece in kept if piece is not None])
        self.bytes = _SESSION_BYTES + _TIP_BYTES * len(self.tips) + _FRAME_BYTES * len(frames) + held
        return like, pieces

    def _find_like(self, frame: Frame) -> tuple[Reference | None, list[bytes | bool | None]]:
        for like, at in self.frames:
            if len(like) == len(frame):
                pieces = [True if b is not None and a == b else b for a, b in zip(like, frame, strict=True)]
                if True in pieces:
                    return at, pieces
        return None, list(frame)

    def chain(self, chain: Chain, own: Reference, beside: Chain | None = None) -> NewChain:
        """The stored form of a chain; `beside` is the turn's received one, where this is another."""
        base, nodes = self._walk(chain)
        if base is None and chain.parent is not None and self._refresh():
            base, nodes = self._walk(chain)
        if nodes:
            self.tips[chain.key] = own
            self.bytes += _TIP_BYTES
        if beside is not None:
            return base, _differences(nodes, beside)
        bodies: list[int | bytes] = [node.body for node in nodes]
        bodies.reverse()
        return base, bodies

    def _walk(self, chain: Chain) -> tuple[Reference | None, list[Chain]]:
        """The nearest stored ancestor, and the nodes behind it, newest first."""
        find = self.tips.get
        nodes: list[Chain] = []
        node: Chain | None = chain
        while node is not None:
            base = find(node.key)
            if base is not None:
                return base, nodes
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
        try:
            # What a turn refers to was read before it, where turns come in the order of writing.
            found = self._read[place] = _Builder(place, self._read).build(body)
        except KeyError:
            return self._read_with_references(place, body)
        return found

    def _read_with_references(self, place: Place, body: TurnBody) -> TurnContent:
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
        produced = self._own[PRODUCED] = self._view(body.produced, None)
        delivered = self._own[DELIVERED] = self._view(body.delivered, None)
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
            return _pieces(stored.pieces or (), None)
        view = self._find(stored.frame)
        if not isinstance(view, View):
            raise DamagedBody("it refers to a frame that isn't there")
        if stored.pieces is None:
            return view.frame
        return _pieces(stored.pieces, view.frame)

    def _chain(self, stored: StoredChain, beside: Chain | None) -> Chain:
        chain: Chain | None = None
        if stored.base is not None:
            found = self._find(stored.base)
            chain = found.chain if isinstance(found, View) else found
            if chain is None:
                raise DamagedBody("it refers to a chain that isn't there")
        depth = chain.depth if chain is not None else 0
        others = _bodies(beside, depth) if int in map(type, stored.segments) else []
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


def _pieces(stored: Sequence[bytes | bool | None], like: Frame | None) -> Frame:
    """A frame's pieces; True stands for the piece of another frame in the same place."""
    if bool not in map(type, stored):
        return tuple(stored)  # type: ignore[arg-type]
    if like is None:
        raise DamagedBody("it refers to a piece that isn't there")
    if len(like) != len(stored):
        raise DamagedBody("it refers to a frame of another length")
    found = [same if type(piece) is bool else piece for piece, same in zip(stored, like, strict=True)]
    if found.count(None) != stored.count(None):
        raise DamagedBody("it refers to a piece that isn't there")
    return tuple(found)
