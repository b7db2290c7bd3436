"""Repeated log events: one line for each in a while, and the number of those that were left out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

_TOLD_APART_BY = (
    "fault",
    "file",
    "name",
    "operator",
    "profile",
    "protocol",
    "replica",
    "server",
    "tool",
    "upstream",
    "version",
    "who",
)
"""Fields whose values make two events of one text different ones."""
_STATE = "enabled"
"""A field that says how something is now. An event that changes it is no repetition, however soon it comes:
the log's last word is how things are."""
_MOST = 1000
"""Different events that are counted at a time; further ones are all logged."""


@dataclass(slots=True)
class _Counted:
    method: str
    text: str
    labels: Mapping[str, Any]
    until: float
    state: Any
    left_out: int = 0


@dataclass(slots=True)
class RepeatFilter:
    """Lets the first of equal events through, and counts those of the next `seconds`."""

    seconds: float
    now: Callable[[], float] = time.monotonic
    _counted: dict[tuple[Any, ...], _Counted] = field(default_factory=dict)

    def admits(self, method: str, text: str, values: Mapping[str, Any]) -> bool:
        if self.seconds <= 0:
            return True
        labels = {name: values[name] for name in _TOLD_APART_BY if name in values}
        key = (method, text, *(str(value) for value in labels.values()))
        state = values.get(_STATE)
        if (found := self._counted.get(key)) is not None:
            repeated, found.state = found.state == state, state
            found.left_out += repeated
            return not repeated
        if len(self._counted) < _MOST:
            self._counted[key] = _Counted(method, text, labels, self.now() + self.seconds, state)
        return True

    def take_over(self, *, every: bool = False) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """End the counts whose time is over, or all; yield those that left something out as an event."""
        if not self._counted:
            return
        now = self.now()
        for key in [key for key, one in self._counted.items() if every or one.until <= now]:
            one = self._counted.pop(key)
            if one.left_out:
                yield one.method, one.text, {**one.labels, "repeated": one.left_out}
