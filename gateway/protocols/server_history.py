"""Histories that the upstream holds: a request may name a response and bring only what comes after it.

Its history is that of the response's own request, then what was answered, then what is new: it is read as if
the client had resent it all, so that what is new gets the ordinals, anchors and draws that it had got then.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crosswind.gateway.protocols.document import encode
from crosswind.gateway.protocols.history import History
from crosswind.gateway.protocols.message_format import MessageFormat, ParsedMessage

KEPT_RESPONSES = 64
KEPT_ITEMS = 1024


@dataclass(slots=True, eq=False)
class ServerHistory:
    """The history up to a response: `length` steps of `history`, and the response's own items."""

    response_id: str
    upstream_id: str
    """The upstream knows the response by this id: that of its last round, where some were answered inside."""
    history: History
    length: int
    output: Sequence[Any]
    shared: bool = True
    """Others may go on with `history`."""
    answer: int = 0
    """How many of the steps are the response's own."""

    def continuation(self) -> History:
        """A history that ends with the response, ready for what comes after it."""
        history = self.history
        if self.shared or len(history.steps) != self.length:
            history = history.fork(self.length)
        if self.output or self.shared:
            for item in self.output:
                history.extend(encode(item), 0, _as_it_is)
            self.history, self.length = history, len(history.steps)
            self.answer, self.output, self.shared = len(self.output), (), False
        history.held = len(history.steps)
        return history


class ServerHistories:
    """The newest of them in a session, by the ids of their responses and conversations."""

    def __init__(self, messages: MessageFormat) -> None:
        self.items: dict[str, ParsedMessage] = {}
        """What was produced, by the items' ids: a later request may only refer to it."""
        self._format = messages
        self._held: OrderedDict[str, ServerHistory] = OrderedDict()
        self._told: set[str] = set()

    def get(self, held_by: str) -> ServerHistory | None:
        """What is known of the history up to this response, or of this conversation."""
        return self._held.get(held_by)

    def has_seen(self, response_id: str) -> bool:
        """Whether a response was taken in, even if it is forgotten by now."""
        return response_id in self._told

    def keep(self, names: Iterable[str], held: ServerHistory) -> None:
        """Take in a response: later requests name it, or its conversation, by these ids."""
        self._told.add(held.response_id)
        for name in names:
            self._held[name] = held
            self._held.move_to_end(name)
        while len(self._held) > KEPT_RESPONSES:
            self._held.popitem(last=False)
        for item in held.output:
            if isinstance(item, Mapping) and isinstance(item.get("id"), str):
                self.items[item["id"]] = self._format.parse(item)
        while len(self.items) > KEPT_ITEMS:
            del self.items[next(iter(self.items))]


def _as_it_is(segment: bytes) -> bytes:
    return segment
