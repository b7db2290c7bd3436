"""Which calls on a tool leg are attempts at the same logical call.

The model's call ids don't reach a tool, and a client re-issues a call under a new id. So a call is known by
its link, its tool and its canonical arguments, and by its *order*: how many equal calls were settled or
were under way when it began. Equal calls that follow one that got no true result are further *attempts* at
that one.
"""

from __future__ import annotations

from collections import Counter, deque

import msgspec

from crosswind.injectors.identity import canonical_arguments, logical_call
from crosswind.injectors.targets import ToolClass


class CallAttempt(msgspec.Struct, frozen=True, gc=False):
    """One attempt at a logical call, on the link to a server or an API."""

    link: str
    tool: str
    arguments: str
    """Canonical JSON."""
    logical_call: str
    order: int
    """Counts equal logical calls, from 0."""
    attempt: int
    """Counts the attempts at this one, from 0."""
    index: int
    """Counts the calls of the session's tool legs, from 0. Further attempts have that of the first."""
    number: int
    """Counts those of the link."""
    told_class: ToolClass | None = None
    """What the call itself says of its tool, by its HTTP method."""

    @property
    def anchor(self) -> str:
        """How its noise is found again."""
        return f"wire:{self.logical_call.partition(':')[2]}#{self.order}.{self.attempt}"


class CallLog:
    """The logical calls of one session's tool legs."""

    def __init__(self) -> None:
        self.calls = 0
        self._numbers: Counter[str] = Counter()
        self._orders: Counter[str] = Counter()
        self._failed: dict[tuple[str, str], deque[CallAttempt]] = {}
        """By link and logical call: attempts that got no true result, and were not made again yet."""

    def begin(self, link: str, tool: str, arguments: str) -> CallAttempt:
        """The attempt that a call is. `arguments` is JSON text."""
        logical = logical_call(tool, arguments)
        if failed := self._failed.get((link, logical)):
            before = failed.popleft()
            if not failed:
                del self._failed[link, logical]
            given = canonical_arguments(arguments)
            return msgspec.structs.replace(before, arguments=given, attempt=before.attempt + 1)
        call = CallAttempt(
            link,
            tool,
            canonical_arguments(arguments),
            logical,
            self._orders[logical],
            0,
            self.calls,
            self._numbers[link],
        )
        self._orders[logical] += 1
        self._numbers[link] += 1
        self.calls += 1
        return call

    def resume(
        self, link: str, tool: str, logical: str, order: int, attempt: int, *, answered: bool
    ) -> CallAttempt:
        """Take note of an attempt that an earlier process settled. They come in the order of time."""
        before = [one for one in self._failed.pop((link, logical), ()) if one.order != order]
        if before:
            self._failed[link, logical] = deque(before)
        call = CallAttempt(link, tool, "", logical, order, attempt, self.calls, self._numbers[link])
        if attempt == 0:
            self._orders[logical] = max(self._orders[logical], order + 1)
            self._numbers[link] += 1
            self.calls += 1
        self.end(call, answered=answered)
        return call

    def end(self, call: CallAttempt, *, answered: bool) -> None:
        """Settle an attempt. `answered`: it got a true result; else the next equal call is a retry of it."""
        if not answered:
            self._failed.setdefault((call.link, call.logical_call), deque()).append(call)
