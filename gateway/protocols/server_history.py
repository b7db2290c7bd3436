"""Histories that the upstream holds: a request may name a response and bring only the messages after it.

Such a request is read as if the client had resent the history of the response's own request and the answer,
so that what is new gets the ordinals, anchors and draws that it would have got then.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crosswind.gateway.protocols.history import History, hide_nothing
from crosswind.gateway.protocols.json_values import encode
from crosswind.gateway.protocols.message_format import MessageFormat, ParsedMessage

KEPT_RESPONSES = 64
KEPT_ITEMS = 1024


@dataclass(slots=True, eq=False)
class ServerHistory:
    """The history up to a response: `length` steps of `history`, then the response's own items."""

    response_id: str
    upstream_id: str
    """The upstream's id of the response: its last round's, if some rounds were answered inside."""
    history: History
    length: int
    output: Sequence[Any]
    shared: bool = True
    """Others may continue `history` too."""
    answer: int = 0
    """How many of the steps are the response's own."""

    def continuation(self) -> History:
        """A history that ends with the response, for the messages after it."""
        history = self.history
        if self.shared or len(history.steps) != self.length:
            history = history.fork(self.length)
        if self.output or self.shared:
            for item in self.output:
                history.extend(encode(item), 0, hide_nothing)
            self.history, self.length = history, len(history.steps)
            self.answer, self.output, self.shared = len(self.output), (), False
        history.held = len(history.steps)
        return history


class ServerHistories:
    """A session's newest server histories, by the ids of their responses and conversations."""

    def __init__(self, messages: MessageFormat) -> None:
        self.items: dict[str, ParsedMessage] = {}
        """Output items by id, to which later requests may refer."""
        self._format = messages
        self._kept: OrderedDict[str, ServerHistory] = OrderedDict()
        self._seen: set[str] = set()

    def get(self, held_by: str) -> ServerHistory | None:
        """The known history up to this response, or of this conversation."""
        return self._kept.get(held_by)

    def has_seen(self, response_id: str) -> bool:
        """Whether a response was kept, even if it is forgotten by now."""
        return response_id in self._seen

    def keep(self, names: Iterable[str], held: ServerHistory) -> None:
        """Keep a response, which later requests name by these ids."""
        self._seen.add(held.response_id)
        for name in names:
            self._kept[name] = held
            self._kept.move_to_end(name)
        while len(self._kept) > KEPT_RESPONSES:
            self._kept.popitem(last=False)
        for item in held.output:
            if isinstance(item, Mapping) and isinstance(item.get("id"), str):
                self.items[item["id"]] = self._format.parse(item)
        while len(self.items) > KEPT_ITEMS:
            del self.items[next(iter(self.items))]
