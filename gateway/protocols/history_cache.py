"""The histories of a session that were met lately, and how far a body goes along with one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crosswind.gateway.protocols.history import History, HistoryStep, Mask
from crosswind.gateway.protocols.message_format import MessageFormat, ParsedMessage

KEPT_HISTORIES = 8
_LONGEST_HEAD = 1 << 16
"""Bytes before the messages that are kept: most clients say little there."""
_SPAN_BYTES = 120


@dataclass(frozen=True, slots=True)
class KnownPrefix:
    """What a body begins with, byte for byte: everything before its messages, and the first ones of a
    history.
    """

    histories: HistoryCache
    history: History
    steps: int
    start: int
    """Where the first one's separator begins."""
    end: int
    """Where the last of them ends."""

    @property
    def spans(self) -> Sequence[tuple[int, int]]:
        """Where they stand in the body."""
        return self.history.spans[: self.steps]


class HistoryCache:
    """The histories of a session that were met lately."""

    def __init__(self, messages: MessageFormat, items: Mapping[str, ParsedMessage]) -> None:
        self._format = messages
        self._known_items = items
        self._kept: list[History] = []
        self._head = b""
        """What stood before the messages of the body that was read last."""

    @property
    def size(self) -> int:
        """Bytes of the messages; what histories share is counted for each."""
        spans = sum(len(history.spans) for history in self._kept)
        return len(self._head) + _SPAN_BYTES * spans + sum(history.size for history in self._kept)

    def find_prefix(self, body: bytes) -> KnownPrefix | None:
        """How a body begins as one did that was read before; None where it doesn't."""
        start = len(self._head)
        if not start or not body.startswith(self._head):
            return None
        history, shared, end = self._nearest(body, start)
        if history is None or len(history.spans) < shared or history.spans[shared - 1][1] != end:
            return None  # Read behind another head, its messages stood elsewhere.
        return KnownPrefix(self, history, shared, start, end)

    def read(
        self,
        body: bytes,
        start: int,
        spans: Sequence[tuple[int, int]],
        mask: Mask,
        known: KnownPrefix | None = None,
    ) -> History:
        """The history that begins with the messages at `spans`; it may go on after them.

        `start` is where the first one's separator begins; `known`: how the body begins, where that was found.
        """
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
        if history in self._kept:
            self._kept.remove(history)
        self._kept.append(history)
        del self._kept[:-KEPT_HISTORIES]
        if start <= _LONGEST_HEAD:
            self._head = body[:start]
        return history

    def empty(self) -> History:
        """A history without messages."""
        return History(self._format, self._known_items)

    def _nearest(self, body: bytes, start: int, most: int | None = None) -> tuple[History | None, int, int]:
        """The history that a body goes along with furthest, over how many messages, and where these end."""
        best: History | None = None
        furthest, end = 0, start
        for history in reversed(self._kept):
            shared, position = _shared(history.steps[:most], body, start)
            if shared > furthest:
                best, furthest, end = history, shared, position
            if shared == most or shared == len(history.steps) > 0:
                break
        return best, furthest, end


def _shared(steps: Sequence[HistoryStep], body: bytes, position: int) -> tuple[int, int]:
    """How many leading messages of the body are, byte for byte, these, and where the last of them ends."""
    for index, step in enumerate(steps):
        raw = step.raw
        if not body.startswith(raw, position):
            return index, position
        position += len(raw)
    return len(steps), position
