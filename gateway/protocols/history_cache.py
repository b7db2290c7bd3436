"""A session's latest histories, and how far a new body agrees with one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from crosswind.gateway.protocols.frame import LARGEST_FRAME, Frame
from crosswind.gateway.protocols.history import History, Mask
from crosswind.gateway.protocols.message_format import MessageFormat, ParsedMessage

KEPT_HISTORIES = 8
_SPAN_BYTES = 120


class KnownPrefix(msgspec.Struct, frozen=True, gc=False):
    """The known beginning of a body: all before its messages, and the first messages of a history."""

    histories: HistoryCache
    history: History
    frame: Frame
    """The frame of the body that was read last."""
    steps: int
    start: int
    """Where the first message's separator begins."""
    end: int
    """Where the last known message ends."""

    @property
    def spans(self) -> Sequence[tuple[int, int]]:
        """The spans of the known messages in the body."""
        return self.history.spans[: self.steps]


class HistoryCache:
    """A session's latest histories."""

    def __init__(self, messages: MessageFormat, items: Mapping[str, ParsedMessage]) -> None:
        self._format = messages
        self._known_items = items
        self._kept: list[History] = []
        self._frame: Frame | None = None
        """The frame of the body that was read last."""

    @property
    def size(self) -> int:
        """The bytes of the messages; what histories share counts for each."""
        size = 0 if self._frame is None else self._frame.size
        for history in self._kept:
            size += history.size + _SPAN_BYTES * len(history.spans)
        return size

    def find_prefix(self, body: bytes) -> KnownPrefix | None:
        """The beginning that a body shares with one read before, if any."""
        frame = self._frame
        if frame is None or not body.startswith(frame.head):
            return None
        start = len(frame.head)
        history, shared, end = self._nearest(body, start)
        if history is None or len(history.spans) < shared or history.spans[shared - 1][1] != end:
            return None  # It was read behind another head: its messages stood elsewhere.
        return KnownPrefix(self, history, frame, shared, start, end)

    def read(
        self,
        body: bytes,
        frame: Frame,
        spans: Sequence[tuple[int, int]],
        mask: Mask,
        known: KnownPrefix | None = None,
    ) -> History:
        """The history that begins with the messages at `spans`; it may be longer. `known`: the body's known
        beginning, if there is one.
        """
        start = len(frame.head)
        if known is not None and known.histories is self:
            history, shared = known.history, known.steps
        else:
            nearest, shared, _ = self._nearest(body, start, len(spans))
            history = nearest or self.empty()
        if shared < len(history.steps) and shared < len(spans):
            history = history.fork(shared)
        history.read(body, spans[shared - 1][1] if shared else start, spans[shared:], mask)
        if len(spans) == len(history.steps):
            history.spans = spans
        kept = self._kept
        if not kept or kept[-1] is not history:
            if history in kept:
                kept.remove(history)
            kept.append(history)
            del kept[:-KEPT_HISTORIES]
        if frame.size <= LARGEST_FRAME:
            self._frame = frame
        return history

    def empty(self) -> History:
        """A history without messages."""
        return History(self._format, self._known_items)

    def _nearest(self, body: bytes, start: int, most: int | None = None) -> tuple[History | None, int, int]:
        """The history with the most messages in common with a body, their number, and where they end."""
        best: History | None = None
        furthest, end = 0, start
        for history in reversed(self._kept):
            segments = history.segments if most is None else history.segments[:most]
            known = b"".join(segments)
            if segments and body.startswith(known, start):
                shared, position = len(segments), start + len(known)
            else:
                shared, position = _count_shared(segments, body, start)
            if shared > furthest:
                best, furthest, end = history, shared, position
            if shared == most or shared == len(history.steps) > 0:
                break
        return best, furthest, end


def _count_shared(segments: Sequence[bytes], body: bytes, position: int) -> tuple[int, int]:
    """How many leading messages of the body have these bytes, and where the last of them ends."""
    for index, raw in enumerate(segments):
        if not body.startswith(raw, position):
            return index, position
        position += len(raw)
    return len(segments), position
